import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicLong;
import org.kafkabi.Config;
import org.kafkabi.Producer;
import org.kafkabi.Record;

/** Sends each line of the input as a record and prints where it went. */
public final class ProduceLines {
    private ProduceLines() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 2) {
            System.err.println("usage: ProduceLines HOST:PORT[,HOST:PORT...] TOPIC");
            System.exit(2);
        }
        AtomicLong failed = new AtomicLong();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        // The end of the block waits until every record is delivered or has failed.
        try (Producer producer = new Producer(Config.of(arguments[0]))) {
            for (String line = input.readLine(); line != null; line = input.readLine()) {
                String sent = line;
                // The callback runs on the producer's thread: it must be short and wait for nothing.
                producer.send(Record.of(arguments[1], line), (metadata, failure) -> {
                    if (failure == null) {
                        System.out.println(sent + "  partition " + metadata.partition() + ", offset " + metadata.offset());
                    } else {
                        failed.incrementAndGet();
                        System.err.println(sent + "  was not delivered: " + failure.getMessage());
                    }
                });
            }
        }
        System.exit(failed.get() == 0 ? 0 : 1);
    }
}
