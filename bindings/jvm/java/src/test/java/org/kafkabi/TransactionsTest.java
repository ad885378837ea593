package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kafkabi.errors.InterruptException;
import org.kafkabi.errors.ProducerFencedException;
import org.kafkabi.errors.TimeoutException;
import org.kafkabi.errors.TransactionAbortedException;
import org.kafkabi.lowlevel.Constants;

/**
 * Transactions as far as the embedded cluster goes: it takes the requests, but shows aborted records. What consumers see
 * is tested on a real broker.
 */
@Timeout(120)
class TransactionsTest {
    private static EmbeddedCluster cluster;

    @BeforeAll
    static void start() {
        cluster = EmbeddedCluster.start().createTopic("t", 2);
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    private static Producer producer(String id) {
        Producer producer = new Producer(cluster.config().set("transactional.id", id).set("message.max.bytes", 10_000));
        producer.transactions().init();
        return producer;
    }

    @Test
    void sendsOutsideOfATransactionThrow() {
        try (Producer producer = producer("outside")) {
            assertThrows(IllegalStateException.class, () -> producer.send(Record.of("t", "v")));
            producer.transactions().begin();
            assertThrows(IllegalStateException.class, producer.transactions()::begin);
            producer.send(Record.of("t", "v"));
            producer.transactions().commit();
            assertThrows(IllegalStateException.class, () -> producer.send(Record.of("t", "v")));
            assertThrows(IllegalStateException.class, producer.transactions()::commit);
            assertThrows(IllegalStateException.class, producer.transactions()::abort);
        }
    }

    @Test
    void aCommitIsBackWhenAllIsDelivered() {
        try (Producer producer = producer("commit")) {
            for (int round = 0; round < 5; round++) {
                producer.transactions().begin();
                List<CompletableFuture<RecordMetadata>> futures = new ArrayList<>();
                for (int i = 0; i < 1000; i++) {
                    futures.add(producer.send(Record.of("t", "v" + i)));
                }
                producer.transactions().commit();
                futures.forEach(future -> assertTrue(future.isDone() && !future.isCompletedExceptionally()));
            }
        }
    }

    /** The native client never saw the record, so it would commit the others. */
    @Test
    void aRecordThatWasNeverTakenForbidsTheCommit() throws Exception {
        try (Producer producer = producer("broken")) {
            producer.transactions().begin();
            producer.send(Record.of("t", "v"));
            CompletableFuture<RecordMetadata> broken = producer.send(Record.of("t", null, new byte[20_000]));
            KafkaException thrown = assertThrows(KafkaException.class, producer.transactions()::commit);
            assertTrue(thrown.abortRequired());
            assertEquals(Constants.KABI_STATUS_MSG_SIZE_TOO_LARGE, thrown.code());
            assertThrows(KafkaException.class, producer.transactions()::commit);
            producer.transactions().abort();
            assertTrue(broken.isCompletedExceptionally());
            producer.transactions().begin();
            CompletableFuture<RecordMetadata> next = producer.send(Record.of("t", "v"));
            producer.transactions().commit();
            assertTrue(next.get(30, TimeUnit.SECONDS).hasOffset());
        }
    }

    @Test
    void anAbortGivesUpWhatWasNotSent() throws Exception {
        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 1)) {
            Producer producer = new Producer(own.config().set("transactional.id", "a").set("queue.buffering.max.messages", 10)
                    .set("max.block.ms", 500));
            repeat(producer.transactions()::init);
            producer.transactions().begin();
            producer.send(Record.of("t", "first")).get(30, TimeUnit.SECONDS);
            own.brokerDown(EmbeddedCluster.ALL_BROKERS);
            List<CompletableFuture<RecordMetadata>> futures = new ArrayList<>();
            for (int i = 0; i < 1000; i++) {
                futures.add(producer.send(Record.of("t", "v" + i)));
            }
            assertThrows(TimeoutException.class, producer.transactions()::abort);
            own.brokerUp(EmbeddedCluster.ALL_BROKERS);
            repeat(producer.transactions()::abort);
            KafkaException last = assertInstanceOf(KafkaException.class, assertThrows(
                    java.util.concurrent.ExecutionException.class,
                    () -> futures.get(999).get(30, TimeUnit.SECONDS)).getCause());
            assertInstanceOf(TransactionAbortedException.class, last);
            producer.transactions().begin();
            producer.send(Record.of("t", "again"));
            repeat(producer.transactions()::commit);
            producer.close();
        }
    }

    /** The same call again goes on where it was when its time was up. */
    static void repeat(Runnable call) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (true) {
            try {
                call.run();
                return;
            } catch (TimeoutException again) {
                assertTrue(System.nanoTime() < end, "it never ends");
            }
        }
    }

    @Test
    void offsetsGoWithTheTransactionInThreeWays() {
        TopicPartition partition = new TopicPartition("t", 0);
        Config config = cluster.config().set("group.id", "offsets").set("enable.auto.commit", false)
                .set("session.timeout.ms", 6000).set("auto.offset.reset", "earliest");
        try (Producer producer = producer("offsets"); Consumer consumer = new Consumer(config)) {
            consumer.subscribe(List.of("t"));
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while (consumer.assignment().isEmpty()) {
                assertTrue(System.nanoTime() < end, "the consumer never joins");
                consumer.poll(Duration.ofMillis(100));
            }
            Transactions transactions = producer.transactions();
            assertThrows(IllegalStateException.class, () -> transactions.offsets(Map.of(), consumer));
            transactions.begin();
            transactions.offsets(Map.of(partition, new OffsetAndMetadata(3)), consumer);
            transactions.commit();
            transactions.begin();
            transactions.offsets(Map.of(partition, new OffsetAndMetadata(4)), consumer.groupMetadata());
            transactions.commit();
            transactions.begin();
            transactions.offsets(Map.of(partition, new OffsetAndMetadata(5, "m")), "another group");
            transactions.commit();
        }
    }

    @Test
    void aFencedProducerIsOfNoMoreUse() {
        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 1)) {
            Producer producer = new Producer(own.config().set("transactional.id", "fence"));
            producer.transactions().init();
            producer.transactions().begin();
            producer.send(Record.of("t", "v"));
            own.injectErrors(Constants.KABI_REQUEST_END_TXN, Constants.KABI_STATUS_PRODUCER_FENCED, 1);
            KafkaException thrown = assertThrows(KafkaException.class, producer.transactions()::commit);
            assertTrue(thrown.fatal(), thrown.toString());
            assertInstanceOf(ProducerFencedException.class, thrown);
            producer.close();
        }
    }

    @Test
    void aCloseInAnOpenTransactionAbortsIt() {
        Producer producer = producer("close");
        producer.transactions().begin();
        CompletableFuture<RecordMetadata> sent = producer.send(Record.of("t", "v"));
        producer.close();
        assertTrue(sent.isDone());
        assertThrows(IllegalStateException.class, producer.transactions()::commit);
    }

    /** What waits then is only the callback, and the next begin must not be refused. */
    @Test
    void anInterruptAfterTheCommitIsLeftForTheNextCall() throws Exception {
        try (Producer producer = producer("late interrupt")) {
            CountDownLatch begun = new CountDownLatch(1);
            CountDownLatch goOn = new CountDownLatch(1);
            producer.transactions().begin();
            producer.send(Record.of("t", "v"), (metadata, failure) -> {
                begun.countDown();
                assertDoesNotThrow(() -> goOn.await());
            });
            AtomicReference<Throwable> thrown = new AtomicReference<>();
            AtomicBoolean interrupted = new AtomicBoolean();
            Thread thread = new Thread(() -> {
                try {
                    producer.transactions().commit();
                    interrupted.set(Thread.currentThread().isInterrupted());
                } catch (RuntimeException failure) {
                    thrown.set(failure);
                }
            });
            thread.start();
            assertTrue(begun.await(30, TimeUnit.SECONDS));
            // The delivery thread is in the callback, so only that can be waited for outside of the native client.
            while (thread.getState() != Thread.State.TIMED_WAITING) {
                LockSupport.parkNanos(1_000_000);
            }
            thread.interrupt();
            thread.join(30_000);
            assertFalse(thread.isAlive());
            goOn.countDown();
            assertNull(thrown.get());
            assertTrue(interrupted.get());
            producer.transactions().begin();
            producer.transactions().abort();
        }
    }

    @Test
    void anInterruptEndsTheWaitForTheTurn() throws Exception {
        try (EmbeddedCluster own = EmbeddedCluster.start()) {
            own.brokerDown(EmbeddedCluster.ALL_BROKERS);
            Producer producer = new Producer(own.config().set("transactional.id", "turn"));
            Transactions transactions = producer.transactions();
            Thread first = new Thread(() -> assertThrows(InterruptException.class, transactions::init));
            first.start();
            ProducerTest.awaitWaiting(first);
            ProducerTest.assertInterrupted(transactions::init);
            first.interrupt();
            first.join(30_000);
            assertFalse(first.isAlive());
            producer.close(Duration.ZERO);
        }
    }
}
