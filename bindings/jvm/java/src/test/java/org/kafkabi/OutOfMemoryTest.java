package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.kafkabi.lowlevel.Kabi;

/** Clients whose buffers find no memory: what can't be done throws, what was done before stays done, and they go on. */
@Timeout(240)
class OutOfMemoryTest {
    private static final Duration LONG = Duration.ofSeconds(60);
    /** An embedded cluster keeps 5 MiB of a partition. */
    private static final int LARGE = 3_000_000;

    @TempDir
    Path folder;

    /** Runs where buffers of all clients together may have 20 MB. */
    public static final class Child {
        private Child() {}

        /** Ends with 0 and a line "done". */
        public static void main(String[] arguments) throws Exception {
            try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 1)) {
                Config config = cluster.config().set("message.max.bytes", 10_000_000).set("auto.offset.reset", "earliest")
                        .set("max.partition.fetch.bytes", 10_000_000);
                sends(config);
                polls(config);
            }
            System.out.println("done");
        }

        /** Takes all of the memory that there is for buffers. */
        private static List<ByteBuffer> takeAll() {
            List<ByteBuffer> taken = new ArrayList<>();
            for (int size = 1 << 20; size >= 1 << 12; size /= 2) {
                try {
                    while (true) {
                        taken.add(ByteBuffer.allocateDirect(size));
                    }
                } catch (OutOfMemoryError full) {
                    // On with smaller ones.
                }
            }
            return taken;
        }

        private static void sends(Config config) throws Exception {
            byte[] large = new byte[LARGE];
            try (Producer producer = new Producer(config)) {
                assertEquals(0, producer.send(Record.of("t", "first")).get(60, TimeUnit.SECONDS).offset());
                List<ByteBuffer> taken = takeAll();
                assertThrows(OutOfMemoryError.class, () -> producer.send(Record.of("t", large)));
                assertThrows(OutOfMemoryError.class, () -> new Producer(config).close());
                assertThrows(OutOfMemoryError.class, () -> new Consumer(config).close());
                assertEquals(1, producer.send(Record.of("t", "goes on")).get(60, TimeUnit.SECONDS).offset());
                assertEquals(0, producer.outstanding());
                taken.clear();
                assertEquals(2, producer.send(Record.of("t", large)).get(60, TimeUnit.SECONDS).offset());
                // Its larger buffer is kept or changed for a small one, whichever there is room for.
                List<ByteBuffer> again = takeAll();
                assertEquals(3, producer.send(Record.of("t", "last")).get(60, TimeUnit.SECONDS).offset());
                again.clear();
            }
        }

        private static void polls(Config config) {
            try (Consumer consumer = new Consumer(config)) {
                consumer.assign(List.of(new TopicPartition("t", 0)));
                List<ByteBuffer> taken = takeAll();
                List<Record> records = new ArrayList<>();
                assertThrows(OutOfMemoryError.class, () -> {
                    while (records.size() < 4) {
                        records.addAll(consumer.poll(LONG).records());
                    }
                });
                assertTrue(records.size() <= 2, "the large one found a buffer");
                taken.clear();
                while (records.size() < 4) {
                    records.addAll(consumer.poll(LONG).records());
                }
                for (int i = 0; i < 4; i++) {
                    assertEquals(i, records.get(i).offset(), "none is lost, none comes twice");
                }
                assertEquals(LARGE, records.get(2).value().length);
            }
        }
    }

    @Test
    void clientsGoOn() throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx256m", "-XX:+UseSerialGC",
                "-XX:MaxDirectMemorySize=20m", "-D" + Kabi.BACKEND_PROPERTY + "=" + Kabi.backend()));
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), Child.class.getName()));
        Path output = folder.resolve("output");
        Process process = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile()).start();
        if (!process.waitFor(100, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("the virtual machine does not end: " + read(output));
        }
        assertEquals(0, process.exitValue(), () -> read(output));
        assertTrue(read(output).endsWith("done\n"), () -> read(output));
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (java.io.IOException gone) {
            return gone.toString();
        }
    }
}
