import java.time.Duration;
import java.util.List;
import org.kafkabi.Consumer;
import org.kafkabi.EmbeddedCluster;
import org.kafkabi.Producer;
import org.kafkabi.Record;

/** Sends greetings to a Kafka inside this process and reads them back: nothing need be installed. */
public final class QuickStart {
    private QuickStart() {}

    public static void main(String[] arguments) throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("greetings", 1);
                Producer producer = new Producer(cluster.config());
                Consumer consumer = new Consumer(
                        cluster.config().set("group.id", "readers").set("auto.offset.reset", "earliest"))) {
            for (String greeting : List.of("hello", "salut", "moin")) {
                producer.send(Record.of("greetings", "a key", greeting)).get();
            }
            consumer.subscribe(List.of("greetings"));
            int read = 0;
            while (read < 3) {
                for (Record record : consumer.poll(Duration.ofSeconds(30))) {
                    System.out.println(record.offset() + ": " + record.valueText());
                    read++;
                }
            }
            consumer.commit();
        }
    }
}
