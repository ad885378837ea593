package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of clients and clusters that nobody closes, once they are collected. */
@Timeout(240)
class ForgottenTest {
    private static final TopicPartition P0 = new TopicPartition("t", 0);

    /** Collects until it is so. */
    private static void collectUntil(BooleanSupplier reached, String what) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
        while (!reached.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, () -> "not within two minutes: " + what);
            System.gc();
            Thread.sleep(20);
        }
    }

    private static boolean isGone(String thread) {
        return Thread.getAllStackTraces().keySet().stream().noneMatch(other -> other.getName().equals(thread));
    }

    /** Nothing but the end of the producer sends a record that is to linger for minutes. */
    @Test
    void aProducerDeliversWhatItTook() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 1)) {
            CompletableFuture<RecordMetadata> future = sendAndForget(cluster);
            collectUntil(future::isDone, "the record is delivered");
            assertEquals(0, future.get().offset());
            collectUntil(() -> isGone("kafkabi-producer-events-left") && isGone("kafkabi-producer-sender-left"), "its threads end");
        }
    }

    private static CompletableFuture<RecordMetadata> sendAndForget(EmbeddedCluster cluster) {
        return new Producer(cluster.config().set("client.id", "left").set("linger.ms", 300_000).set("delivery.timeout.ms", 600_000))
                .send(Record.of("t", "v"));
    }

    /**
     * It would keep its partition by its heartbeats, and commit nothing. A member that comes later waits for the session's end,
     * in the embedded cluster.
     */
    @Test
    void aConsumerLeavesItsGroupAndCommitsWhatItHandled() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 1)) {
            try (Producer producer = new Producer(cluster.config())) {
                for (int i = 0; i < 10; i++) {
                    producer.send(Record.of("t", "v" + i), null);
                }
            }
            Config config = cluster.config().set("group.id", "g").set("auto.offset.reset", "earliest")
                    .set("session.timeout.ms", 6000).set("heartbeat.interval.ms", 500)
                    .set("auto.commit.interval.ms", 600_000);
            readAndForget(config.copy().set("client.id", "left"));
            collectUntil(() -> isGone("kafkabi-consumer-events-left"), "its thread ends");
            try (Consumer next = new Consumer(config)) {
                next.subscribe(List.of("t"));
                collectUntil(() -> {
                    next.poll(Duration.ofMillis(100));
                    return next.assignment().equals(Set.of(P0));
                }, "the next member gets the partition");
                assertEquals(7, next.committed(List.of(P0)).get(P0).offset());
            }
        }
    }

    private static void readAndForget(Config config) {
        Consumer consumer = new Consumer(config);
        consumer.subscribe(List.of("t"));
        long seen = 0;
        while (seen < 7) {
            RecordBatch batch = consumer.poll(Duration.ofSeconds(30));
            seen += batch.count();
            if (seen >= 7) {
                consumer.handled(batch, (int) (batch.count() - (seen - 7)));
            }
        }
    }

    @Test
    void anAdminAnswersWhatItWasAskedAndEnds() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 1)) {
            CompletableFuture<ClusterMetadata> future = new Admin(cluster.config().set("client.id", "left")).metadata();
            collectUntil(() -> future.isDone() && isGone("kafkabi-admin-events-left"), "its thread ends");
            assertTrue(future.get().topics().containsKey("t"));
        }
    }

    @Test
    void aClusterEnds() throws Exception {
        String address = startAndForget();
        String[] parts = address.split(":");
        InetSocketAddress broker = new InetSocketAddress(parts[0], Integer.parseInt(parts[1]));
        collectUntil(() -> {
            try (Socket socket = new Socket()) {
                socket.connect(broker, 1000);
                return false;
            } catch (IOException refused) {
                return true;
            }
        }, "the cluster's port is closed");
    }

    private static String startAndForget() {
        return EmbeddedCluster.start().bootstrapServers();
    }
}
