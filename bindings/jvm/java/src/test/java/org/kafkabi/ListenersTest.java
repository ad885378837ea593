package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kafkabi.lowlevel.Constants;

/** What clients tell: errors, log lines, statistics, tokens; and what happens when those who are told throw. */
@Timeout(180)
class ListenersTest {
    private static final String NOWHERE = "127.0.0.1:1";
    private static final TopicPartition P0 = new TopicPartition("t", 0);

    private static EmbeddedCluster cluster;

    @BeforeAll
    static void start() {
        cluster = EmbeddedCluster.start().createTopic("t", 1);
        try (Producer producer = new Producer(cluster.config())) {
            for (int i = 0; i < 10; i++) {
                producer.send(Record.of("t", "v" + i).withTimestamp(1000L * i + 1000));
            }
        }
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    private static <T> T next(BlockingQueue<T> queue) throws InterruptedException {
        T next = queue.poll(60, TimeUnit.SECONDS);
        assertTrue(next != null, "nothing came in a minute");
        return next;
    }

    private static Config config(String group) {
        return cluster.config().set("group.id", group).set("auto.offset.reset", "earliest").set("enable.auto.commit", false)
                .set("session.timeout.ms", 6000).set("heartbeat.interval.ms", 500);
    }

    // ---- statistics and logs ----

    @Test
    @SuppressWarnings("unchecked")
    void statisticsComeFromEveryKindOfClient() throws Exception {
        BlockingQueue<String> told = new LinkedBlockingQueue<>();
        Config config = cluster.config().set("statistics.interval.ms", 100).onStatistics(told::add);
        try (Producer producer = new Producer(config)) {
            Map<String, Object> statistics = (Map<String, Object>) Json.parse(next(told));
            assertEquals("producer", statistics.get("type"));
            Map<String, Object> metrics = (Map<String, Object>) Json.parse(producer.metrics());
            assertInstanceOf(Map.class, metrics.get("librdkafka"));
            assertEquals("producer", ((Map<String, Object>) metrics.get("kafkabi")).get("client"));
        }
        told.clear();
        try (Consumer consumer = new Consumer(config)) {
            assertEquals("consumer", ((Map<String, Object>) Json.parse(next(told))).get("type"));
            assertTrue(consumer.metrics().contains("\"client\":\"consumer\""));
        }
        try (Admin admin = new Admin(cluster.config())) {
            Map<String, Object> metrics = (Map<String, Object>) Json.parse(admin.metrics());
            assertEquals("admin", ((Map<String, Object>) metrics.get("kafkabi")).get("client"));
            assertEquals(null, metrics.get("librdkafka"));
        }
    }

    @Test
    void logLinesTellTheirContext() throws Exception {
        BlockingQueue<LogLine> told = new LinkedBlockingQueue<>();
        try (Producer producer = new Producer(cluster.config().set("debug", "metadata,msg").onLog(told::add))) {
            producer.send(Record.of("t", "v")).get(60, TimeUnit.SECONDS);
            LogLine line = next(told);
            while (!line.contexts().contains(LogContext.METADATA)) {
                line = next(told);
            }
            assertEquals(7, line.level());
            assertEquals(System.Logger.Level.DEBUG, line.loggerLevel());
        }
        assertEquals(Set.of(LogContext.CGRP, LogContext.MOCK),
                LogContext.of(Constants.KABI_DEBUG_CGRP | Constants.KABI_DEBUG_MOCK));
        assertEquals(Set.of(), LogContext.of(0));
    }

    // ---- tokens ----

    private static Config bearer() {
        return Config.of(NOWHERE).set("security.protocol", "SASL_PLAINTEXT").set("sasl.mechanism", "OAUTHBEARER")
                .set("sasl.oauthbearer.config", "who=me").onLog(line -> {});
    }

    @Test
    void aTokenIsAskedForAndAgainBeforeItEnds() throws Exception {
        BlockingQueue<String> asked = new LinkedBlockingQueue<>();
        Config config = bearer().tokens(text -> {
            asked.add(text);
            return new TokenProvider.Token("a.b.c", System.currentTimeMillis() + 2500, "me", Map.of("scope", "all"));
        });
        List<AutoCloseable> clients = List.of(new Producer(config), new Consumer(config), new Admin(config));
        for (int i = 0; i < 6; i++) {
            assertEquals("who=me", next(asked));
        }
        for (AutoCloseable client : clients) {
            client.close();
        }
    }

    @Test
    void whyThereIsNoTokenIsAnError() throws Exception {
        List<TokenProvider> failing = List.of(
                text -> {
                    throw new java.io.IOException("the vault is shut");
                },
                text -> {
                    throw new AssertionError("the vault is shut");
                },
                text -> new TokenProvider.Token("a.b.c", 1, "the vault is shut"),
                text -> null);
        for (TokenProvider provider : failing) {
            BlockingQueue<KafkaException> errors = new LinkedBlockingQueue<>();
            try (Admin admin = new Admin(bearer().tokens(provider).onError(errors::add))) {
                KafkaException error = next(errors);
                while (error.code() != Constants.KABI_STATUS_AUTHENTICATION) {
                    error = next(errors);
                }
                assertFalse(error.getMessage().isEmpty());
                assertEquals(admin.metrics().isEmpty(), false);
            }
        }
    }

    // ---- passwords ----

    @Test
    void clientsWithAPasswordTakeAnotherAndOthersDont() {
        Config sasl = Config.of(NOWHERE).set("security.protocol", "SASL_PLAINTEXT").set("sasl.mechanism", "SCRAM-SHA-256")
                .set("sasl.username", "me").set("sasl.password", "first").onLog(line -> {}).onError(error -> {});
        Producer producer = new Producer(sasl);
        producer.setCredentials("me", "second");
        assertThrows(IllegalArgumentException.class, () -> producer.setCredentials("me", ""));
        producer.close(Duration.ZERO);
        assertThrows(IllegalStateException.class, () -> producer.setCredentials("me", "third"));
        try (Consumer consumer = new Consumer(sasl); Admin above = Admin.of(consumer); Admin admin = new Admin(sasl)) {
            consumer.setCredentials("me", "second");
            above.setCredentials("me", "third");
            admin.setCredentials("me", "second");
        }
        try (Producer plain = new Producer(cluster.config())) {
            IllegalStateException refused =
                    assertThrows(IllegalStateException.class, () -> plain.setCredentials("me", "kept-to-itself"));
            assertFalse(refused.getMessage().contains("kept-to-itself"));
        }
    }

    // ---- those who are told throw ----

    private static final class Thrown extends Error {
        private static final long serialVersionUID = 1L;

        Thrown() {
            super("thrown on purpose by a test");
        }
    }

    private static <T> java.util.function.Consumer<T> thrower(AtomicInteger calls) {
        return told -> {
            if (calls.incrementAndGet() % 2 == 0) {
                throw new Thrown();
            }
            throw new IllegalStateException("thrown on purpose by a test");
        };
    }

    @Test
    void listenersThatThrowHoldNothingUp() throws Exception {
        AtomicInteger errors = new AtomicInteger();
        AtomicInteger lines = new AtomicInteger();
        AtomicInteger statistics = new AtomicInteger();
        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 1)) {
            Config config = own.config().set("statistics.interval.ms", 50).set("debug", "broker")
                    .set("reconnect.backoff.max.ms", 100).onError(thrower(errors)).onLog(thrower(lines))
                    .onStatistics(thrower(statistics));
            try (Producer producer = new Producer(config)) {
                producer.send(Record.of("t", "before")).get(60, TimeUnit.SECONDS);
                own.brokerDown(EmbeddedCluster.ALL_BROKERS);
                long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
                while (errors.get() < 2 || lines.get() < 2 || statistics.get() < 2) {
                    assertTrue(System.nanoTime() < end, () -> errors + " errors, " + lines + " lines, " + statistics);
                    Thread.onSpinWait();
                }
                own.brokerUp(EmbeddedCluster.ALL_BROKERS);
                assertTrue(producer.send(Record.of("t", "after")).get(60, TimeUnit.SECONDS).hasOffset());
            }
        }
    }

    @Test
    void deliveryCallbacksAndFuturesThatThrowHoldNothingUp() throws Exception {
        try (Producer producer = new Producer(cluster.config())) {
            AtomicInteger calls = new AtomicInteger();
            List<CompletableFuture<RecordMetadata>> futures = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                producer.send(Record.of("t", "c"), (metadata, failure) -> ListenersTest.thrower(calls).accept(metadata));
                CompletableFuture<RecordMetadata> future = producer.send(Record.of("t", "f"));
                future.thenAccept(thrower(calls));
                futures.add(future);
            }
            for (CompletableFuture<RecordMetadata> future : futures) {
                future.get(60, TimeUnit.SECONDS);
            }
            producer.flush(Duration.ofSeconds(60));
            assertEquals(20, calls.get());
            assertEquals(0, producer.outstanding());
        }
    }

    @Test
    void answersOfAdminsThatAreThrownAtHoldNothingUp() throws Exception {
        try (Admin admin = new Admin(cluster.config())) {
            AtomicInteger calls = new AtomicInteger();
            for (int i = 0; i < 4; i++) {
                CompletableFuture<Void> thrown = admin.metadata().thenAccept(thrower(calls));
                assertThrows(java.util.concurrent.ExecutionException.class, () -> thrown.get(60, TimeUnit.SECONDS));
            }
            assertTrue(admin.metadata().get(60, TimeUnit.SECONDS).topics().containsKey("t"));
        }
    }

    @Test
    void commitCallbacksThatThrowComeOutOfThePollAndTheNextGoesOn() {
        try (Consumer consumer = new Consumer(config("thrown"))) {
            consumer.assign(List.of(P0));
            consumer.commitAsync(Map.of(P0, new OffsetAndMetadata(3)), (offsets, failure) -> {
                throw new Thrown();
            });
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            assertThrows(Thrown.class, () -> {
                while (System.nanoTime() < end) {
                    consumer.poll(Duration.ofMillis(50));
                }
            });
            assertEquals(3, consumer.committed(List.of(P0)).get(P0).offset());
            consumer.seek(P0, 0);
            assertTrue(consumer.poll(Duration.ofSeconds(60)).count() > 0);
        }
    }

    @Test
    void rebalanceListenersThatThrowLoseNoChange() {
        List<String> told = new ArrayList<>();
        RebalanceListener listener = new RebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                told.add("assigned");
                throw new Thrown();
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                told.add("revoked");
                throw new Thrown();
            }
        };
        Consumer consumer = new Consumer(config("rebalance"));
        consumer.subscribe(List.of("t"), listener);
        assertThrows(Thrown.class, () -> consumer.poll(Duration.ofSeconds(60)));
        assertEquals(Set.of(P0), consumer.assignment());
        assertTrue(consumer.poll(Duration.ofSeconds(60)).count() > 0);
        assertThrows(Thrown.class, consumer::unsubscribe);
        assertEquals(Set.of(), consumer.assignment());
        consumer.subscribe(List.of("t"), listener);
        assertThrows(Thrown.class, () -> consumer.poll(Duration.ofSeconds(60)));
        assertThrows(Thrown.class, consumer::close);
        assertThrows(IllegalStateException.class, consumer::assignment);
        assertEquals(List.of("assigned", "revoked", "assigned", "revoked"), told);
    }

    @Test
    void functionsOfEachThatThrowKeepTheirRecord() {
        try (Consumer consumer = new Consumer(config("each"))) {
            consumer.assign(List.of(P0));
            List<String> seen = new ArrayList<>();
            assertThrows(Thrown.class, () -> consumer.each(Duration.ofSeconds(60), record -> {
                if (seen.size() == 3) {
                    throw new Thrown();
                }
                return seen.add(new String(record.value()));
            }));
            consumer.each(Duration.ofSeconds(60), record -> {
                seen.add(new String(record.value()));
                return seen.size() < 6;
            });
            assertEquals(List.of("v0", "v1", "v2", "v3", "v4", "v5"), seen);
        }
    }

    // ---- positions by time, stored offsets, assignments piece by piece ----

    @Test
    void positionsAreSoughtByTime() {
        try (Consumer consumer = new Consumer(config("times"))) {
            consumer.assign(List.of(P0));
            // The embedded cluster knows no times; RealClientTest asks a broker that does.
            consumer.seekToTimes(Map.of(P0, 4500L));
            assertEquals(consumer.endOffsets(List.of(P0)).get(P0), consumer.position(P0));
            assertTrue(consumer.poll(Duration.ofMillis(10)).isEmpty());
            consumer.seek(P0, 4);
            assertEquals(4, consumer.position(P0));
            assertEquals(4, consumer.poll(Duration.ofSeconds(60)).iterator().next().offset());
            TopicPartition other = new TopicPartition("t", 5);
            assertThrows(RuntimeException.class, () -> consumer.seekToTimes(Map.of(other, 1L)));
        }
    }

    @Test
    void offsetsAreStoredForTheNextCommit() {
        try (Consumer consumer = new Consumer(config("stored").set("kafkabi.handled", "explicit"))) {
            consumer.assign(List.of(P0));
            consumer.poll(Duration.ofSeconds(60));
            consumer.store(Map.of(P0, new OffsetAndMetadata(2, "here")));
            consumer.commit();
            OffsetAndMetadata committed = consumer.committed(List.of(P0)).get(P0);
            assertEquals(2, committed.offset());
            assertEquals("here", committed.metadata());
            assertThrows(IllegalStateException.class,
                    () -> consumer.store(Map.of(new TopicPartition("t", 7), new OffsetAndMetadata(1))));
        }
    }

    @Test
    void partitionsAreAssignedPieceByPiece() {
        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 2);
                Consumer consumer = new Consumer(own.config())) {
            TopicPartition second = new TopicPartition("t", 1);
            consumer.incrementalAssign(List.of(P0));
            consumer.incrementalAssign(List.of(second));
            assertEquals(Set.of(P0, second), consumer.assignment());
            assertThrows(IllegalStateException.class, () -> consumer.incrementalAssign(List.of(second)));
            consumer.incrementalUnassign(List.of(P0));
            assertEquals(Set.of(second), consumer.assignment());
            assertTrue(consumer.poll(Duration.ofMillis(1)).isEmpty());
            assertThrows(IllegalStateException.class, () -> consumer.incrementalUnassign(List.of(P0)));
            consumer.incrementalUnassign(List.of(second));
            assertThrows(IllegalStateException.class, () -> consumer.poll(Duration.ZERO));
        }
    }
}
