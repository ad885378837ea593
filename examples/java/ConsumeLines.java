import java.time.Duration;
import java.util.List;
import org.kafkabi.Config;
import org.kafkabi.Consumer;
import org.kafkabi.Record;
import org.kafkabi.errors.WakeupException;

/** Prints the records of a topic as a member of a group, each at least once, until Ctrl-C. */
public final class ConsumeLines {
    private ConsumeLines() {}

    public static void main(String[] arguments) throws Exception {
        if (arguments.length != 3) {
            System.err.println("usage: ConsumeLines HOST:PORT[,HOST:PORT...] TOPIC GROUP");
            System.exit(2);
        }
        Config config = Config.of(arguments[0]).set("group.id", arguments[2]).set("auto.offset.reset", "earliest")
                .set("session.timeout.ms", 6000).set("enable.auto.commit", false);
        Consumer consumer = new Consumer(config);
        Thread main = Thread.currentThread();
        // The virtual machine ends when this hook does: after the consumer has left its group.
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            consumer.wakeup();
            try {
                main.join(30_000);
            } catch (InterruptedException stop) {
                Thread.currentThread().interrupt();
            }
        }));
        try (consumer) {
            consumer.subscribe(List.of(arguments[1]));
            while (true) {
                boolean any = false;
                for (Record record : consumer.poll(Duration.ofMillis(500))) {
                    System.out.println(record.partition() + ":" + record.offset() + "  " + record.valueText());
                    any = true;
                }
                // Only now that they are printed: a program that is killed reads them again.
                if (any) {
                    System.out.flush();
                    consumer.commit();
                }
            }
        } catch (WakeupException ctrlC) {
            System.err.println("the end");
        }
    }
}
