package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kafkabi.errors.InterruptException;
import org.kafkabi.errors.WakeupException;

/** Receiving: groups, positions, commits, wake-ups, interrupts, and the end in every state. */
@Timeout(120)
class ConsumerTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final TopicPartition P0 = new TopicPartition("ten", 0);
    private static final TopicPartition P1 = new TopicPartition("ten", 1);

    private static EmbeddedCluster cluster;

    /** Topic "ten" has the records 0 to 9 in each of its two partitions. */
    @BeforeAll
    static void start() {
        cluster = EmbeddedCluster.start().createTopic("ten", 2).createTopic("empty", 1);
        try (Producer producer = new Producer(cluster.config())) {
            for (int i = 0; i < 10; i++) {
                producer.send(Record.of("ten", "" + i).withPartition(0));
                producer.send(Record.of("ten", "" + i).withPartition(1));
            }
        }
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    private static Config config(String group) {
        // Members that come back wait for the session's end in the embedded cluster.
        return cluster.config().set("group.id", group).set("auto.offset.reset", "earliest")
                .set("session.timeout.ms", 6000).set("heartbeat.interval.ms", 500).set("enable.auto.commit", false);
    }

    private static List<String> values(Iterable<Record> records) {
        List<String> values = new ArrayList<>();
        records.forEach(record -> values.add(record.partition() + ":" + record.valueText()));
        return values;
    }

    @Test
    void assignSeekPauseAndPositions() {
        try (Consumer consumer = new Consumer(config("assign").set("max.poll.records", 3))) {
            assertThrows(IllegalStateException.class, () -> consumer.poll(Duration.ZERO));
            consumer.assign(List.of(P0));
            consumer.seek(P0, 4);
            assertEquals(4, consumer.position(P0));
            assertEquals(List.of("0:4", "0:5", "0:6"), values(consumer.poll(LONG)));
            assertEquals(7, consumer.position(P0));
            consumer.seekToBeginning(List.of());
            assertEquals(List.of("0:0", "0:1", "0:2"), values(consumer.poll(LONG)));
            consumer.seekToEnd(List.of(P0));
            assertTrue(consumer.poll(Duration.ofMillis(200)).isEmpty());
            assertEquals(10, consumer.position(P0));
            consumer.assign(List.of(P0, P1));
            consumer.pause(List.of(P0));
            assertEquals(Set.of(P0), consumer.paused());
            Set<Integer> partitions = new HashSet<>();
            RoundTripTest.receive(consumer, 10).forEach(record -> partitions.add(record.partition()));
            assertEquals(Set.of(1), partitions);
            consumer.resume(List.of(P0));
            assertTrue(consumer.paused().isEmpty());
            RoundTripTest.receive(consumer, 10).forEach(record -> assertEquals(0, record.partition()));
            assertEquals(Map.of(P0, 0L, P1, 0L), consumer.beginningOffsets(List.of(P0, P1)));
            assertEquals(Map.of(P0, 10L, P1, 10L), consumer.endOffsets(List.of(P0, P1)));
            consumer.seek(P1, 3);
            assertEquals(Map.of(P0, 0L, P1, 7L), consumer.lag(List.of(P0, P1)));
            assertThrows(IllegalStateException.class, () -> consumer.seek(new TopicPartition("empty", 0), 1));
            assertThrows(IllegalArgumentException.class, () -> consumer.seek(P0, -1));
            consumer.unsubscribe();
            assertThrows(IllegalStateException.class, () -> consumer.poll(Duration.ZERO));
        }
    }

    @Test
    void commitsAreReadBack() throws Exception {
        try (Consumer consumer = new Consumer(config("commits").set("max.poll.records", 3))) {
            consumer.assign(List.of(P0));
            assertTrue(consumer.committed(List.of(P0)).isEmpty());
            RecordBatch batch = consumer.poll(LONG);
            consumer.commit();
            assertEquals(3, consumer.committed(List.of(P0)).get(P0).offset());
            consumer.commit(batch.records().get(0));
            assertEquals(1, consumer.committed(List.of(P0)).get(P0).offset());
            consumer.commit(Map.of(P0, new OffsetAndMetadata(2, "where")));
            assertEquals("where", consumer.committed(List.of(P0)).get(P0).metadata());
            assertEquals(2, consumer.committed(List.of(P0)).get(P0).offset());
            CompletableFuture<Map<TopicPartition, OffsetAndMetadata>> future =
                    consumer.commitAsync(Map.of(P0, new OffsetAndMetadata(5)));
            assertEquals(Map.of(P0, new OffsetAndMetadata(5)), future.get(30, TimeUnit.SECONDS));
            AtomicReference<Thread> thread = new AtomicReference<>();
            AtomicReference<Map<TopicPartition, OffsetAndMetadata>> told = new AtomicReference<>();
            assertEquals(3, consumer.poll(LONG).count());
            // What later polls hand out, and say to be handled, may be a part of the commit.
            consumer.pause(List.of(P0));
            consumer.commitAsync((offsets, failure) -> {
                thread.set(Thread.currentThread());
                told.set(offsets);
            });
            long end = System.nanoTime() + LONG.toNanos();
            while (thread.get() == null && System.nanoTime() < end) {
                consumer.poll(Duration.ofMillis(10));
            }
            assertEquals(Thread.currentThread(), thread.get());
            assertEquals(6, told.get().get(P0).offset());
        }
    }

    @Test
    void eachHandsOutOneByOneAndCommitsOnlyWhatIsHandled() {
        try (Consumer consumer = new Consumer(config("each"))) {
            consumer.assign(List.of(P0));
            List<String> seen = new ArrayList<>();
            assertEquals(4, consumer.each(LONG, record -> seen.add(record.valueText()) && seen.size() < 4));
            assertEquals(List.of("0", "1", "2", "3"), seen);
            consumer.commit();
            assertEquals(4, consumer.committed(List.of(P0)).get(P0).offset());
            assertThrows(ArithmeticException.class, () -> consumer.each(LONG, record -> {
                seen.add(record.valueText());
                if (record.offset() == 6) {
                    throw new ArithmeticException("on purpose");
                }
                return true;
            }));
            consumer.commit();
            assertEquals(6, consumer.committed(List.of(P0)).get(P0).offset());
            assertEquals(4, consumer.each(LONG, record -> {
                seen.add(record.valueText());
                consumer.commit();
                assertEquals(record.offset(), consumer.committed(List.of(P0)).get(P0).offset());
                return record.offset() < 9;
            }));
            assertEquals(List.of("0", "1", "2", "3", "4", "5", "6", "6", "7", "8", "9"), seen);
            consumer.commit();
            assertEquals(10, consumer.committed(List.of(P0)).get(P0).offset());
        }
    }

    /** What usually stops a program must not lose the records that its function was not given. */
    @Test
    void wakeupsAndInterruptsInTheFunctionLoseNothing() {
        Map<String, Predicate<Consumer>> stops = new LinkedHashMap<>();
        stops.put("wakeup", consumer -> {
            consumer.wakeup();
            return false;
        });
        stops.put("interrupt", consumer -> {
            Thread.currentThread().interrupt();
            return false;
        });
        stops.put("exception", consumer -> {
            consumer.wakeup();
            Thread.currentThread().interrupt();
            throw new ArithmeticException("on purpose");
        });
        stops.forEach((name, stop) -> {
            Config config = config("stop-" + name).set("enable.auto.commit", true);
            List<Long> seen = new ArrayList<>();
            try (Consumer consumer = new Consumer(config)) {
                consumer.assign(List.of(P0));
                try {
                    assertEquals(4, consumer.each(LONG, record -> {
                        seen.add(record.offset());
                        return record.offset() != 3 || stop.test(consumer);
                    }), name);
                } catch (ArithmeticException thrown) {
                    seen.remove(3L);
                    assertEquals(0, thrown.getSuppressed().length);
                }
                if (!name.equals("interrupt")) {
                    assertThrows(WakeupException.class, () -> consumer.poll(LONG), name);
                }
                if (!name.equals("wakeup")) {
                    assertThrows(InterruptException.class, () -> consumer.poll(LONG), name);
                    assertTrue(Thread.interrupted());
                }
                consumer.poll(LONG).forEach(record -> seen.add(record.offset()));
                assertEquals(List.of(0L, 1L, 2L, 3L, 4L, 5L, 6L, 7L, 8L, 9L), seen, name);
            }
            try (Consumer consumer = new Consumer(config)) {
                assertEquals(name.equals("exception") ? 3 : 4, consumer.committed(List.of(P0)).get(P0).offset(), name);
            }
        });
    }

    @Test
    void nobodyPollsWhileAFunctionRuns() {
        try (Consumer consumer = new Consumer(config("inner"))) {
            consumer.assign(List.of(P0));
            assertThrows(IllegalStateException.class, () -> consumer.each(LONG, record -> !consumer.poll(LONG).isEmpty()));
            assertEquals(0, consumer.poll(LONG).iterator().next().offset());
        }
    }

    @Test
    void anUnsubscribeCommitsNothingOfTheBatchInHand() {
        Config config = config("leave").set("enable.auto.commit", true).set("max.poll.records", 3);
        TopicPartition only = new TopicPartition("three", 0);
        cluster.createTopic("three", 1);
        try (Producer producer = new Producer(cluster.config())) {
            for (int i = 0; i < 3; i++) {
                producer.send(Record.of("three", "" + i));
            }
        }
        try (Consumer consumer = new Consumer(config)) {
            consumer.subscribe(List.of("three"));
            RecordBatch batch = consumer.poll(LONG);
            assertTrue(batch.count() >= 1);
            assertThrows(IllegalArgumentException.class, () -> consumer.handled(batch, -1));
            assertThrows(IllegalArgumentException.class, () -> consumer.handled(batch, batch.count() + 1));
            consumer.handled(batch, 1);
            consumer.unsubscribe();
            assertTrue(consumer.assignment().isEmpty());
        }
        try (Consumer consumer = new Consumer(config)) {
            assertEquals(1, consumer.committed(List.of(only)).get(only).offset());
        }
    }

    /** What a close finds in hand is not committed: it may be what failed. */
    @Test
    void aCloseCommitsNothingOfTheBatchInHand() {
        Config config = config("in-hand").set("enable.auto.commit", true).set("max.poll.records", 3);
        try (Consumer consumer = new Consumer(config)) {
            consumer.assign(List.of(P0));
            assertEquals(3, consumer.poll(LONG).count());
            RecordBatch second = consumer.poll(LONG);
            consumer.handled(second, 1);
        }
        try (Consumer consumer = new Consumer(config)) {
            assertEquals(4, consumer.committed(List.of(P0)).get(P0).offset());
        }
    }

    @Test
    void membersOfAGroupShareAndListenersAreTold() {
        List<String> told = new ArrayList<>();
        RebalanceListener listener = new RebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                told.add("assigned " + new TreeSet<>(partitions));
            }

            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                told.add("revoked " + new TreeSet<>(partitions));
            }
        };
        Consumer first = new Consumer(config("share"));
        first.subscribe(List.of("ten"), listener);
        assertEquals(Set.of("ten"), first.subscription());
        assertEquals(20, RoundTripTest.receive(first, 20).size());
        assertEquals(List.of("assigned [ten-0, ten-1]"), told);
        assertFalse(first.memberId().isEmpty());
        assertTrue(first.groupMetadata().length > 0);
        try (Consumer second = new Consumer(config("share"))) {
            second.subscribe(List.of("ten"));
            long end = System.nanoTime() + LONG.toNanos();
            while ((first.assignment().size() != 1 || second.assignment().size() != 1) && System.nanoTime() < end) {
                first.poll(Duration.ofMillis(50));
                second.poll(Duration.ofMillis(50));
            }
            assertEquals(1, first.assignment().size());
            assertEquals(1, second.assignment().size());
            assertEquals("revoked [ten-0, ten-1]", told.get(1));
        }
        String last = "revoked " + first.assignment();
        first.close();
        assertEquals(last, told.get(told.size() - 1));
    }

    @Test
    void aListenerSeeksBeforeAnyRecordAndItsExceptionsComeOut() {
        try (Consumer consumer = new Consumer(config("seek"))) {
            AtomicInteger calls = new AtomicInteger();
            consumer.subscribe(Pattern.compile("t[aeiou]n"), new RebalanceListener() {
                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    partitions.forEach(partition -> consumer.seek(partition, 8));
                    calls.incrementAndGet();
                    throw new ArithmeticException("on purpose");
                }

                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                    calls.incrementAndGet();
                }
            });
            KafkaException thrown = assertThrows(KafkaException.class, () -> consumer.poll(LONG));
            assertInstanceOf(ArithmeticException.class, thrown.getCause());
            assertEquals(Set.of("0:8", "0:9", "1:8", "1:9"), new HashSet<>(values(RoundTripTest.receive(consumer, 4))));
            consumer.unsubscribe();
            assertEquals(2, calls.get());
            assertTrue(consumer.assignment().isEmpty());
        }
    }

    @Test
    void endsOfPartitionsAreTold() {
        try (Consumer consumer = new Consumer(config("ends").set("enable.partition.eof", true))) {
            consumer.assign(List.of(P0));
            List<Record> records = new ArrayList<>();
            List<TopicPartition> ends = new ArrayList<>();
            while (ends.isEmpty()) {
                RecordBatch batch = consumer.poll(LONG);
                assertTrue(!batch.isEmpty() || !batch.ends().isEmpty());
                batch.forEach(records::add);
                ends.addAll(batch.ends());
            }
            assertEquals(10, records.size());
            assertEquals(List.of(P0), ends);
        }
    }

    @Test
    void aWakeupEndsTheCallInProgressOrElseTheNextOne() throws Exception {
        try (Consumer consumer = new Consumer(config("wake"))) {
            consumer.assign(List.of(new TopicPartition("empty", 0)));
            consumer.wakeup();
            assertThrows(WakeupException.class, () -> consumer.poll(LONG));
            assertTrue(consumer.poll(Duration.ofMillis(10)).isEmpty());
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            Thread poller = new Thread(() -> {
                try {
                    consumer.poll(Duration.ofMillis(Long.MAX_VALUE));
                } catch (RuntimeException failure) {
                    thrown.set(failure);
                }
            });
            poller.start();
            ProducerTest.awaitWaiting(poller);
            assertThrows(IllegalStateException.class, () -> consumer.poll(Duration.ZERO));
            consumer.wakeup();
            poller.join(30_000);
            assertInstanceOf(WakeupException.class, thrown.get());
            consumer.wakeup();
            assertThrows(WakeupException.class, () -> consumer.committed(List.of(P0)));
            assertTrue(consumer.poll(Duration.ofMillis(10)).isEmpty());
        }
    }

    /** Of two threads that wait, whichever it is. */
    @Test
    void aWakeupEndsOneCallOnly() throws Exception {
        try (EmbeddedCluster down = EmbeddedCluster.start().createTopic("t", 1).brokerDown(EmbeddedCluster.ALL_BROKERS);
                Consumer consumer = new Consumer(down.config().set("group.id", "two").set("default.api.timeout.ms", 1_000_000)
                        .onError(error -> {}).onLog(line -> {}))) {
            TopicPartition partition = new TopicPartition("t", 0);
            consumer.assign(List.of(partition));
            List<Runnable> calls = List.of(() -> consumer.committed(List.of(partition)),
                    () -> consumer.endOffsets(List.of(partition)), () -> consumer.poll(Duration.ofMillis(Long.MAX_VALUE)));
            BlockingQueue<RuntimeException> thrown = new LinkedBlockingQueue<>();
            List<Thread> threads = new ArrayList<>();
            for (Runnable call : calls) {
                Thread thread = new Thread(() -> {
                    try {
                        call.run();
                    } catch (RuntimeException failure) {
                        thrown.add(failure);
                    }
                });
                threads.add(thread);
                thread.start();
                ProducerTest.awaitWaiting(thread);
            }
            for (Thread ignored : threads) {
                consumer.wakeup();
                assertInstanceOf(WakeupException.class, thrown.poll(60, TimeUnit.SECONDS));
                // A wakeup that ended two would do so within moments of the first.
                assertNull(thrown.poll(200, TimeUnit.MILLISECONDS));
            }
            for (Thread thread : threads) {
                thread.join(30_000);
                assertFalse(thread.isAlive());
            }
        }
    }

    @Test
    void interruptsEndEveryCallThatWaits() throws Exception {
        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("ten", 1)) {
            own.brokerDown(EmbeddedCluster.ALL_BROKERS);
            Consumer consumer = new Consumer(own.config().set("group.id", "g").set("session.timeout.ms", 6000)
                    .set("default.api.timeout.ms", 1_000_000));
            consumer.assign(List.of(P0));
            ProducerTest.assertInterrupted(() -> consumer.poll(Duration.ofMillis(Long.MAX_VALUE)));
            ProducerTest.assertInterrupted(() -> consumer.pollViews(Duration.ofMillis(Long.MAX_VALUE)));
            ProducerTest.assertInterrupted(() -> consumer.commit(Map.of(P0, new OffsetAndMetadata(1))));
            ProducerTest.assertInterrupted(() -> consumer.committed(List.of(P0)));
            ProducerTest.assertInterrupted(() -> consumer.position(P0));
            ProducerTest.assertInterrupted(() -> consumer.endOffsets(List.of(P0)));
            ProducerTest.assertInterrupted(() -> consumer.offsetsForTimes(Map.of(P0, 1L)));
            ProducerTest.assertInterrupted(() -> consumer.lag(List.of(P0)));
            Thread.currentThread().interrupt();
            assertThrows(org.kafkabi.errors.InterruptException.class, () -> consumer.poll(LONG));
            assertTrue(Thread.interrupted());
            consumer.close();
        }
    }

    @Test
    void closeInEveryState() {
        new Consumer(cluster.config()).close();
        Consumer consumer = new Consumer(config("close"));
        consumer.subscribe(List.of("ten"));
        consumer.poll(LONG);
        RecordView view = consumer.pollViews(Duration.ZERO);
        consumer.close();
        consumer.close();
        assertThrows(IllegalStateException.class, view::next);
        assertThrows(IllegalStateException.class, () -> consumer.poll(Duration.ZERO));
        assertThrows(IllegalStateException.class, consumer::commit);
        assertThrows(IllegalStateException.class, () -> consumer.seek(P0, 1));
        assertThrows(IllegalStateException.class, () -> consumer.subscribe(List.of("ten")));
        assertThrows(IllegalStateException.class, consumer::assignment);
        assertThrows(IllegalStateException.class, consumer::metrics);
        consumer.wakeup();
    }
}
