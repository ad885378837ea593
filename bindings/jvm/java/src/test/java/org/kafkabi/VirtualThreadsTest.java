package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kafkabi.errors.InterruptException;
import org.kafkabi.errors.TimeoutException;
import org.kafkabi.errors.WakeupException;

/** A native call keeps the carrier of a virtual thread; so many waits would leave the others none. */
@Timeout(240)
class VirtualThreadsTest {
    private static final TopicPartition P0 = new TopicPartition("virtual", 0);

    /** More than there are carriers, even if the scheduler makes up for some. */
    private static final int WAITING = 2 * Runtime.getRuntime().availableProcessors() + 2;

    @BeforeAll
    static void areThere() {
        assumeTrue(Runtime.version().feature() >= 21, "SKIPPED: virtual threads need JDK 21 or newer");
    }

    @Test
    void pollsLeaveTheOthersTheirTurn() throws Exception {
        List<Consumer> consumers = new ArrayList<>();
        AtomicInteger woken = new AtomicInteger();
        CountDownLatch begun = new CountDownLatch(WAITING);
        CountDownLatch ended = new CountDownLatch(WAITING);
        AtomicReference<Throwable> other = new AtomicReference<>();
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("virtual", 1)) {
            for (int i = 0; i < WAITING; i++) {
                Consumer consumer = new Consumer(cluster.config());
                consumers.add(consumer);
                consumer.assign(List.of(new TopicPartition("virtual", 0)));
                startVirtual(() -> {
                    begun.countDown();
                    try {
                        consumer.poll(Duration.ofHours(1));
                    } catch (WakeupException wakeup) {
                        woken.incrementAndGet();
                    } catch (Throwable thrown) {
                        other.set(thrown);
                    } finally {
                        ended.countDown();
                    }
                });
            }
            assertTrue(begun.await(30, TimeUnit.SECONDS));
            assertOthersHaveTheirTurn(cluster);
            consumers.forEach(Consumer::wakeup);
            assertTrue(ended.await(30, TimeUnit.SECONDS));
            assertNull(other.get());
            assertEquals(WAITING, woken.get());
        } finally {
            consumers.forEach(Consumer::close);
        }
    }

    private static void assertOthersHaveTheirTurn(EmbeddedCluster cluster) throws Exception {
        CompletableFuture<Object> turn = new CompletableFuture<>();
        startVirtual(() -> {
            try (Producer producer = new Producer(cluster.config())) {
                turn.complete(producer.send(Record.of("elsewhere", "v")).get());
            } catch (Throwable thrown) {
                turn.completeExceptionally(thrown);
            }
        });
        assertInstanceOf(RecordMetadata.class, turn.get(60, TimeUnit.SECONDS));
    }

    /** Of each kind of call that waits for brokers there are as many as would take all carriers. */
    @Test
    void flushesCommitsTransactionsAndAdminsLeaveTheOthersTheirTurn() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("virtual", 1);
                EmbeddedCluster down = EmbeddedCluster.start().createTopic("virtual", 1)) {
            Config config = down.config().set("max.block.ms", 1_000_000).set("default.api.timeout.ms", 1_000_000)
                    .onError(error -> {}).onLog(line -> {});
            Consumer consumer = new Consumer(config.copy().set("group.id", "virtual").set("enable.auto.commit", false)
                    .set("session.timeout.ms", 6000));
            consumer.assign(List.of(P0));
            Producer transactional = new Producer(config.copy().set("transactional.id", "virtual"));
            TransactionsTest.repeat(transactional.transactions()::init);
            transactional.transactions().begin();
            transactional.send(Record.of("virtual", "v")).get(30, TimeUnit.SECONDS);
            down.brokerDown(EmbeddedCluster.ALL_BROKERS);
            Producer producer = new Producer(config);
            producer.send(Record.of("virtual", "v"));
            Admin admin = new Admin(config);

            Map<String, Runnable> calls = new LinkedHashMap<>();
            calls.put("flush", producer::flush);
            calls.put("commit of offsets", () -> consumer.commit(Map.of(P0, new OffsetAndMetadata(1))));
            calls.put("committed", () -> consumer.committed(List.of(P0)));
            calls.put("commit of a transaction", transactional.transactions()::commit);
            calls.put("admin", () -> admin.createTopic("new", 1, 1));
            for (Map.Entry<String, Runnable> call : calls.entrySet()) {
                leavesTurns(call.getKey(), call.getValue(), cluster);
            }
            // An embedded cluster never answers to that.
            assertThrows(TimeoutException.class, () -> admin.close(Duration.ofMillis(100)));
            down.brokerUp(EmbeddedCluster.ALL_BROKERS);
            producer.close();
            transactional.close();
            consumer.close();
        }
    }

    private static void leavesTurns(String name, Runnable call, EmbeddedCluster cluster) throws Exception {
        List<Thread> threads = new ArrayList<>();
        CountDownLatch begun = new CountDownLatch(WAITING);
        CountDownLatch ended = new CountDownLatch(WAITING);
        AtomicReference<Throwable> other = new AtomicReference<>();
        for (int i = 0; i < WAITING; i++) {
            threads.add(startVirtual(() -> {
                begun.countDown();
                try {
                    call.run();
                    other.set(new AssertionError(name + " came back"));
                } catch (InterruptException interrupt) {
                    // As it should be.
                } catch (Throwable thrown) {
                    other.set(thrown);
                } finally {
                    ended.countDown();
                }
            }));
        }
        assertTrue(begun.await(30, TimeUnit.SECONDS), name);
        assertOthersHaveTheirTurn(cluster);
        threads.forEach(Thread::interrupt);
        assertTrue(ended.await(60, TimeUnit.SECONDS), name);
        assertNull(other.get(), () -> name + ": " + other.get());
    }

    /** Thread.startVirtualThread, which JDK 17 does not have. */
    private static Thread startVirtual(Runnable task) throws ReflectiveOperationException {
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, task);
    }
}
