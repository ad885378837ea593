package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kafkabi.errors.BufferExhaustedException;
import org.kafkabi.errors.InterruptException;
import org.kafkabi.errors.RecordTooLargeException;
import org.kafkabi.errors.TimeoutException;
import org.kafkabi.errors.UnknownTopicOrPartitionException;
import org.kafkabi.lowlevel.Constants;

/** Sending: outcomes, order, back-pressure, interrupts, and the end in every state. */
@Timeout(120)
class ProducerTest {
    private static final int SECONDS = 30;

    private static EmbeddedCluster cluster;

    @BeforeAll
    static void start() {
        cluster = EmbeddedCluster.start().createTopic("one", 1).createTopic("two", 2);
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    private static KafkaException failure(CompletableFuture<?> future) {
        ExecutionException thrown = assertThrows(ExecutionException.class, () -> future.get(SECONDS, TimeUnit.SECONDS));
        return assertInstanceOf(KafkaException.class, thrown.getCause());
    }

    @Test
    void callbacksRunOnTheDeliveryThread() throws Exception {
        AtomicReference<Thread> thread = new AtomicReference<>();
        AtomicReference<RecordMetadata> told = new AtomicReference<>();
        CountDownLatch called = new CountDownLatch(1);
        try (Producer producer = new Producer(cluster.config().set("client.id", "me"))) {
            producer.send(Record.of("one", "v"), (metadata, failure) -> {
                thread.set(Thread.currentThread());
                told.set(metadata);
                assertNull(failure);
                called.countDown();
            });
            assertTrue(called.await(SECONDS, TimeUnit.SECONDS));
            assertEquals("kafkabi-producer-events-me", thread.get().getName());
            assertTrue(thread.get().isDaemon());
            assertEquals("one", told.get().topic());
            assertTrue(told.get().hasOffset());
        }
    }

    @Test
    void aBrokenRecordFailsAloneAndItsNeighboursAreDelivered() throws Exception {
        try (Producer producer = new Producer(cluster.config().set("message.max.bytes", 10_000))) {
            producer.send(Record.of("two", "known now")).get(SECONDS, TimeUnit.SECONDS);
            List<CompletableFuture<RecordMetadata>> futures = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                Record record = Record.of("two", "v" + i).withPartition(0);
                futures.add(producer.send(switch (i % 10) {
                    case 3 -> record.withPartition(17);
                    case 7 -> Record.of("two", null, new byte[20_000]);
                    default -> record;
                }));
            }
            for (int i = 0; i < 100; i++) {
                switch (i % 10) {
                    case 3 -> assertInstanceOf(UnknownTopicOrPartitionException.class, failure(futures.get(i)));
                    case 7 -> {
                        KafkaException failure = failure(futures.get(i));
                        assertInstanceOf(RecordTooLargeException.class, failure);
                        assertEquals(Constants.KABI_STATUS_MSG_SIZE_TOO_LARGE, failure.code());
                        assertEquals("MSG_SIZE_TOO_LARGE", failure.name());
                    }
                    default -> assertEquals(0, futures.get(i).get(SECONDS, TimeUnit.SECONDS).partition());
                }
            }
        }
    }

    @Test
    void aRecordLargerThanTheStagingCrossesToo() throws Exception {
        try (Producer producer = new Producer(cluster.config().set("message.max.bytes", 5_000_000))) {
            byte[] large = new byte[3_000_000];
            large[large.length - 1] = 7;
            CompletableFuture<RecordMetadata> before = producer.send(Record.of("one", "before"));
            CompletableFuture<RecordMetadata> sent = producer.send(Record.of("one", null, large));
            CompletableFuture<RecordMetadata> after = producer.send(Record.of("one", "after"));
            long offset = sent.get(SECONDS, TimeUnit.SECONDS).offset();
            assertEquals(offset - 1, before.get(SECONDS, TimeUnit.SECONDS).offset());
            assertEquals(offset + 1, after.get(SECONDS, TimeUnit.SECONDS).offset());
            try (Consumer consumer = new Consumer(cluster.config().set("max.partition.fetch.bytes", 6_000_000)
                    .set("fetch.max.bytes", 7_000_000))) {
                TopicPartition partition = new TopicPartition("one", 0);
                consumer.assign(List.of(partition));
                consumer.seek(partition, offset);
                Record received = consumer.poll(Duration.ofSeconds(SECONDS)).records().get(0);
                assertEquals(large.length, received.value().length);
                assertEquals(7, received.value()[large.length - 1]);
            }
        }
    }

    /** The native queue is far smaller than what is sent, so most crossings are cut short and resumed. */
    @Test
    void crossingsThatAreCutShortKeepTheOrder() throws Exception {
        int count = 20_000;
        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 1)) {
            try (Producer producer = new Producer(own.config().set("queue.buffering.max.messages", 50).set("linger.ms", 1))) {
                AtomicInteger last = new AtomicInteger(-1);
                AtomicInteger wrong = new AtomicInteger();
                for (int i = 0; i < count; i++) {
                    int number = i;
                    producer.send(Record.of("t", "" + i), (metadata, failure) -> {
                        if (failure != null || last.getAndSet(number) != number - 1 || metadata.offset() != number) {
                            wrong.incrementAndGet();
                        }
                    });
                }
                producer.flush();
                assertEquals(count - 1, last.get());
                assertEquals(0, wrong.get());
            }
        }
    }

    @Test
    void aFullProducerBlocksAndThenThrowsAndLosesNothing() throws Exception {
        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 1)) {
            try (Producer producer = new Producer(own.config()
                    .set("queue.buffering.max.messages", 100).set("max.block.ms", 200))) {
                producer.send(Record.of("t", "first")).get(SECONDS, TimeUnit.SECONDS);
                own.brokerDown(EmbeddedCluster.ALL_BROKERS);
                List<CompletableFuture<RecordMetadata>> futures = new ArrayList<>();
                byte[] value = new byte[10_000];
                BufferExhaustedException full = assertThrows(BufferExhaustedException.class, () -> {
                    for (int i = 0; i < 10_000; i++) {
                        futures.add(producer.send(Record.of("t", null, value)));
                    }
                });
                assertTrue(full.getMessage().contains("max.block.ms"), full.getMessage());
                own.brokerUp(EmbeddedCluster.ALL_BROKERS);
                for (int i = 0; i < futures.size(); i++) {
                    assertEquals(i + 1, futures.get(i).get(SECONDS, TimeUnit.SECONDS).offset());
                }
            }
        }
    }

    @Test
    void interruptsEndSendFlushAndClose() throws Exception {
        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 1)) {
            own.brokerDown(EmbeddedCluster.ALL_BROKERS);
            Producer producer = new Producer(own.config().set("queue.buffering.max.messages", 10));
            byte[] value = new byte[100_000];
            List<CompletableFuture<RecordMetadata>> futures = new ArrayList<>();
            assertInterrupted(() -> {
                while (true) {
                    futures.add(producer.send(Record.of("t", null, value)));
                }
            });
            assertInterrupted(producer::flush);
            assertThrows(TimeoutException.class, () -> producer.flush(Duration.ofMillis(100)));
            assertInterrupted(producer::close);
            for (CompletableFuture<RecordMetadata> future : futures) {
                assertNotNull(failure(future));
            }
            producer.close();
        }
    }

    /** Runs it in a thread, which is interrupted once it waits. */
    static void assertInterrupted(Runnable call) throws InterruptedException {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        AtomicReference<Boolean> status = new AtomicReference<>();
        Thread thread = new Thread(() -> {
            try {
                call.run();
            } catch (Throwable failure) {
                thrown.set(failure);
                status.set(Thread.currentThread().isInterrupted());
            }
        });
        thread.start();
        awaitWaiting(thread);
        thread.interrupt();
        thread.join(TimeUnit.SECONDS.toMillis(SECONDS));
        assertFalse(thread.isAlive(), "an interrupted call goes on");
        assertInstanceOf(InterruptException.class, thrown.get());
        assertTrue(status.get(), "the interrupt status is lost");
    }

    /** Until the thread waits, in Java or in the native client, or has ended. */
    static void awaitWaiting(Thread thread) {
        while (thread.isAlive() && thread.getState() != Thread.State.TIMED_WAITING
                && thread.getState() != Thread.State.WAITING && !isInNative(thread)) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    private static boolean isInNative(Thread thread) {
        // With the backend ffm the frame is not a native one.
        StackTraceElement[] stack = thread.getStackTrace();
        return stack.length > 0 && stack[0].getMethodName().startsWith("kabi_");
    }

    @Test
    void closeInEveryState() throws Exception {
        new Producer(cluster.config()).close();

        Producer flushing = new Producer(cluster.config().set("linger.ms", 1000));
        CompletableFuture<RecordMetadata> sent = flushing.send(Record.of("one", "v"));
        flushing.close();
        assertTrue(sent.isDone());
        assertTrue(sent.get().hasOffset());
        flushing.close();
        assertThrows(IllegalStateException.class, () -> flushing.send(Record.of("one", "v")));
        assertThrows(IllegalStateException.class, flushing::flush);
        assertThrows(IllegalStateException.class, flushing::metrics);

        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 1)) {
            own.brokerDown(EmbeddedCluster.ALL_BROKERS);
            Producer stuck = new Producer(own.config().set("queue.buffering.max.messages", 10));
            List<CompletableFuture<RecordMetadata>> futures = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                futures.add(stuck.send(Record.of("t", "v" + i)));
            }
            stuck.close(Duration.ofMillis(100));
            for (CompletableFuture<RecordMetadata> future : futures) {
                assertTrue(future.isCompletedExceptionally());
            }
        }
    }

    @Test
    void closeFromACallbackDoesNotWaitForItself() throws Exception {
        Producer producer = new Producer(cluster.config());
        CountDownLatch closed = new CountDownLatch(1);
        AtomicReference<Throwable> flush = new AtomicReference<>();
        producer.send(Record.of("one", "v"), (metadata, failure) -> {
            try {
                producer.flush();
            } catch (RuntimeException thrown) {
                flush.set(thrown);
            }
            producer.close();
            closed.countDown();
        });
        assertTrue(closed.await(SECONDS, TimeUnit.SECONDS));
        assertInstanceOf(IllegalStateException.class, flush.get());
        producer.close();
    }

    @Test
    void aCallbackThatThrowsOrSendsHoldsNothingUp() throws Exception {
        try (Producer producer = new Producer(cluster.config())) {
            CompletableFuture<RecordMetadata> second = new CompletableFuture<>();
            producer.send(Record.of("one", "first"), (metadata, failure) -> {
                producer.send(Record.of("one", "second"), (other, otherFailure) -> second.complete(other));
                throw new IllegalStateException("thrown on purpose by a test");
            });
            assertTrue(second.get(SECONDS, TimeUnit.SECONDS).hasOffset());
        }
    }

    @Test
    void misuseIsNamed() {
        try (Producer producer = new Producer(cluster.config())) {
            assertThrows(NullPointerException.class, () -> producer.send((Record) null));
            assertThrows(NullPointerException.class, () -> Record.of((String) null, "v"));
            assertThrows(IllegalArgumentException.class, () -> Record.of("one", "v").withPartition(-2));
            assertThrows(IllegalArgumentException.class, () -> Record.of("one", "v").withTimestamp(-5));
            IllegalArgumentException name =
                    assertThrows(IllegalArgumentException.class, () -> producer.send(Record.of("no spaces", "v")));
            assertTrue(name.getMessage().contains("no spaces"), name.getMessage());
            assertThrows(IllegalArgumentException.class,
                    () -> producer.send(Record.of("one", "v").withHeaders(Header.of("a\0b", "v"))));
            assertThrows(IllegalStateException.class, () -> producer.transactions().begin());
            assertThrows(IllegalStateException.class, () -> producer.transactions().commit());
        }
    }

    /** An interrupt of the thread that sends stands for any fault of it: nobody may wait for ever. */
    @Test
    void aSenderThatEndsByAFaultFailsWhatWasSent() throws Exception {
        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 1)) {
            Producer producer = new Producer(own.config().set("client.id", "faulty"));
            producer.send(Record.of("t", "v")).get(30, TimeUnit.SECONDS);
            own.brokerDown(EmbeddedCluster.ALL_BROKERS);
            List<CompletableFuture<RecordMetadata>> futures = new ArrayList<>();
            for (int i = 0; i < 100; i++) {
                futures.add(producer.send(Record.of("t", "v" + i)));
            }
            Thread sender = Thread.getAllStackTraces().keySet().stream()
                    .filter(thread -> thread.getName().equals("kafkabi-producer-sender-faulty")).findFirst().orElseThrow();
            sender.interrupt();
            sender.join(30_000);
            assertFalse(sender.isAlive());
            for (CompletableFuture<RecordMetadata> future : futures) {
                ExecutionException thrown = assertThrows(ExecutionException.class, () -> future.get(30, TimeUnit.SECONDS));
                assertInstanceOf(KafkaException.class, thrown.getCause());
            }
            assertThrows(IllegalStateException.class, () -> producer.send(Record.of("t", "v")));
            assertEquals(0, producer.outstanding());
            producer.flush();
            producer.close();
        }
    }
}
