import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.kafkabi.Config;
import org.kafkabi.Consumer;
import org.kafkabi.KafkaException;
import org.kafkabi.OffsetAndMetadata;
import org.kafkabi.Producer;
import org.kafkabi.Record;
import org.kafkabi.RecordBatch;
import org.kafkabi.TopicPartition;
import org.kafkabi.Transactions;

/**
 * Copies records in upper case from one topic to another, each exactly once: what is written and how far was read is
 * committed together, or not at all. Several run side by side in one group, each with a name of its own. Ends when
 * nothing has come for some seconds.
 */
public final class ExactlyOnce {
    private static final Duration IDLE = Duration.ofSeconds(10);

    private ExactlyOnce() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 5) {
            System.err.println("usage: ExactlyOnce HOST:PORT[,HOST:PORT...] FROM TO GROUP NAME");
            System.exit(2);
        }
        Config reading = Config.of(arguments[0]).set("group.id", arguments[3]).set("auto.offset.reset", "earliest")
                .set("session.timeout.ms", 6000).set("isolation.level", "read_committed")
                .set("enable.auto.commit", false);
        Config writing = Config.of(arguments[0]).set("transactional.id", arguments[3] + "-" + arguments[4]);
        long copied = 0;
        try (Consumer consumer = new Consumer(reading); Producer producer = new Producer(writing)) {
            producer.transactions().init();
            consumer.subscribe(List.of(arguments[1]));
            for (RecordBatch batch = consumer.poll(IDLE); !batch.isEmpty(); batch = consumer.poll(IDLE)) {
                if (copy(batch, arguments[2], consumer, producer)) {
                    copied += batch.count();
                }
            }
        }
        System.out.println(copied + " records copied");
    }

    /** One batch, one transaction. What can't be aborted ends the program: the next run goes on where this one was. */
    private static boolean copy(RecordBatch batch, String to, Consumer consumer, Producer producer) {
        Transactions transactions = producer.transactions();
        transactions.begin();
        try {
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            for (Record record : batch) {
                producer.send(Record.of(to, record.key(), upper(record)), null);
                offsets.put(record.topicPartition(), Consumer.next(record));
            }
            transactions.offsets(offsets, consumer);
            transactions.commit();
            return true;
        } catch (KafkaException failure) {
            if (!failure.abortRequired()) {
                throw failure;
            }
            System.err.println("aborted, once more: " + failure.getMessage());
            transactions.abort();
            rewind(batch, consumer);
            return false;
        }
    }

    /** Reads the batch again, but for partitions that another member of the group has now. */
    private static void rewind(RecordBatch batch, Consumer consumer) {
        for (TopicPartition partition : batch.partitions()) {
            if (consumer.assignment().contains(partition)) {
                consumer.seek(partition, batch.records(partition).get(0).offset());
            }
        }
    }

    private static byte[] upper(Record record) {
        String text = record.valueText();
        return text == null ? null : text.toUpperCase(Locale.ROOT).getBytes(StandardCharsets.UTF_8);
    }
}
