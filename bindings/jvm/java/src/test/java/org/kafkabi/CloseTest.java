package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kafkabi.errors.TimeoutException;

/** The end of clients in every state, while other threads are inside them, and from their own callbacks. */
@Timeout(240)
class CloseTest {
    private static final Duration EVER = Duration.ofMillis(Long.MAX_VALUE);
    private static final TopicPartition P0 = new TopicPartition("t", 0);

    private static EmbeddedCluster cluster;
    private static EmbeddedCluster down;

    @BeforeAll
    static void start() {
        cluster = EmbeddedCluster.start().createTopic("t", 1);
        down = EmbeddedCluster.start().createTopic("t", 1).brokerDown(EmbeddedCluster.ALL_BROKERS);
    }

    @AfterAll
    static void stop() {
        cluster.close();
        down.close();
    }

    private static Config config(EmbeddedCluster cluster) {
        return cluster.config().set("group.id", "g" + System.nanoTime()).set("auto.offset.reset", "earliest")
                .set("session.timeout.ms", 6000).set("heartbeat.interval.ms", 500);
    }

    /** Makes a call on another thread, waits until it waits, closes, and gives what the call threw, or null. */
    private static Throwable closeDuring(Runnable call, AutoCloseable client) throws Exception {
        AtomicReference<Throwable> thrown = new AtomicReference<>();
        Thread caller = new Thread(() -> {
            try {
                call.run();
            } catch (Throwable failure) {
                thrown.set(failure);
            }
        });
        caller.start();
        ProducerTest.awaitWaiting(caller);
        client.close();
        caller.join(60_000);
        assertFalse(caller.isAlive(), "the call outlives the client");
        return thrown.get();
    }

    @Test
    void producersEndWhileOthersWaitInThem() throws Exception {
        Producer sending = new Producer(down.config().set("queue.buffering.max.messages", 10));
        assertInstanceOf(RuntimeException.class, closeDuring(() -> {
            while (true) {
                sending.send(Record.of("t", null, new byte[100_000]));
            }
        }, () -> sending.close(Duration.ofMillis(100))));

        Producer flushing = new Producer(down.config());
        CompletableFuture<RecordMetadata> record = flushing.send(Record.of("t", "v"));
        closeDuring(flushing::flush, () -> flushing.close(Duration.ofMillis(100)));
        assertInstanceOf(KafkaException.class,
                assertThrows(ExecutionException.class, () -> record.get(60, TimeUnit.SECONDS)).getCause());

        Producer init = new Producer(down.config().set("transactional.id", "init").set("max.block.ms", 100_000));
        assertInstanceOf(RuntimeException.class,
                closeDuring(init.transactions()::init, () -> init.close(Duration.ofMillis(100))));
        assertThrows(IllegalStateException.class, init.transactions()::init);
    }

    @Test
    void producersEndInEveryStateOfATransaction() throws Exception {
        for (int state = 0; state < 5; state++) {
            Producer producer = new Producer(cluster.config().set("transactional.id", "state" + state));
            CompletableFuture<RecordMetadata> record = null;
            if (state > 0) {
                producer.transactions().init();
            }
            if (state > 1) {
                producer.transactions().begin();
                record = producer.send(Record.of("t", "v"));
            }
            if (state == 3) {
                producer.transactions().commit();
            }
            if (state == 4) {
                producer.transactions().abort();
            }
            producer.close();
            producer.close();
            assertTrue(record == null || record.isDone());
            assertThrows(IllegalStateException.class, producer.transactions()::begin);
            assertThrows(IllegalStateException.class, producer.transactions()::commit);
        }
    }

    @Test
    void consumersEndWhileOthersWaitInThem() throws Exception {
        Consumer polling = new Consumer(config(cluster));
        polling.assign(List.of(P0));
        polling.seekToEnd(List.of());
        assertInstanceOf(IllegalStateException.class, closeDuring(() -> polling.poll(EVER), polling));

        Consumer asking = new Consumer(config(down).set("default.api.timeout.ms", 100_000));
        asking.assign(List.of(P0));
        assertInstanceOf(IllegalStateException.class,
                closeDuring(() -> asking.committed(List.of(P0)), () -> asking.close(Duration.ofSeconds(60))));

        Consumer viewing = new Consumer(config(cluster));
        viewing.assign(List.of(P0));
        viewing.seekToEnd(List.of());
        assertInstanceOf(IllegalStateException.class, closeDuring(() -> viewing.pollViews(EVER), viewing));
    }

    @Test
    void consumersEndInsideTheirListener() {
        Consumer consumer = new Consumer(config(cluster));
        consumer.subscribe(List.of("t"), new RebalanceListener() {
            @Override
            public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                consumer.close();
            }
        });
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        assertThrows(IllegalStateException.class, () -> {
            while (System.nanoTime() < end) {
                consumer.poll(Duration.ofMillis(50));
            }
        });
        consumer.close();
    }

    @Test
    void consumersEndWithCommitsUnderWay() throws Exception {
        Consumer consumer = new Consumer(config(cluster));
        consumer.assign(List.of(P0));
        CompletableFuture<Map<TopicPartition, OffsetAndMetadata>> future =
                consumer.commitAsync(Map.of(P0, new OffsetAndMetadata(0)));
        AtomicReference<Exception> told = new AtomicReference<>(new Exception("never told"));
        consumer.commitAsync(Map.of(P0, new OffsetAndMetadata(0)), (offsets, failure) -> told.set(failure));
        consumer.close();
        assertEquals(0, future.get(60, TimeUnit.SECONDS).get(P0).offset());
        assertNull(told.get());
    }

    @Test
    void adminsEndWithRequestsUnderWay() throws Exception {
        Admin admin = new Admin(down.config());
        CompletableFuture<ClusterMetadata> future = admin.metadata();
        assertThrows(TimeoutException.class, () -> admin.close(Duration.ofMillis(100)));
        assertInstanceOf(KafkaException.class,
                assertThrows(ExecutionException.class, () -> future.get(60, TimeUnit.SECONDS)).getCause());
        admin.close();

        Admin own = new Admin(cluster.config());
        CompletableFuture<Void> closed = own.metadata().thenAccept(metadata -> own.close());
        closed.get(60, TimeUnit.SECONDS);
        assertThrows(IllegalStateException.class, own::metadata);
    }

    @Test
    void adminsEndWithTheirHost() throws Exception {
        Producer producer = new Producer(cluster.config());
        Admin onProducer = Admin.of(producer);
        assertTrue(Admin.await(onProducer.metadata()).topics().containsKey("t"));
        producer.close();
        assertThrows(IllegalStateException.class, onProducer::metadata);
        onProducer.close();

        Consumer consumer = new Consumer(cluster.config());
        Admin onConsumer = Admin.of(consumer);
        onConsumer.close();
        consumer.assign(List.of(P0));
        consumer.poll(Duration.ofMillis(1));
        consumer.close();
        assertThrows(IllegalStateException.class, () -> Admin.of(consumer));
        assertThrows(IllegalStateException.class, () -> Admin.of(producer));
    }

    @Test
    void clustersEndWhileOthersReadThem() throws Exception {
        EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 1).brokerDown(EmbeddedCluster.ALL_BROKERS);
        assertInstanceOf(IllegalStateException.class, closeDuring(() -> own.records(P0, EVER), own));
        Producer left = new Producer(own.config().onError(error -> {}).onLog(line -> {}));
        left.send(Record.of("t", "v"));
        left.close(Duration.ofMillis(100));
    }

    @Test
    void aSecondCloseOfAConsumerWaitsForTheFirst() throws Exception {
        CountDownLatch begun = new CountDownLatch(1);
        CountDownLatch goOn = new CountDownLatch(1);
        Consumer consumer = new Consumer(config(cluster));
        consumer.subscribe(List.of("t"), new RebalanceListener() {
            @Override
            public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                begun.countDown();
                assertDoesNotThrow(() -> goOn.await());
                consumer.close();
            }
        });
        while (consumer.assignment().isEmpty()) {
            consumer.poll(Duration.ofMillis(100));
        }
        Thread first = new Thread(consumer::close);
        first.start();
        assertTrue(begun.await(30, TimeUnit.SECONDS));
        Thread second = new Thread(consumer::close);
        second.start();
        ProducerTest.awaitWaiting(second);
        assertTrue(second.isAlive());
        goOn.countDown();
        first.join(60_000);
        second.join(60_000);
        assertFalse(first.isAlive() || second.isAlive());
    }

    @Test
    void aCloseInATransactionEndsWithoutBrokers() throws Exception {
        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 1)) {
            Producer producer = new Producer(own.config().set("transactional.id", "left open").set("max.block.ms", 2000));
            TransactionsTest.repeat(producer.transactions()::init);
            producer.transactions().begin();
            producer.send(Record.of("t", "v")).get(30, TimeUnit.SECONDS);
            own.brokerDown(EmbeddedCluster.ALL_BROKERS);
            Thread closer = new Thread(producer::close);
            closer.start();
            closer.join(120_000);
            assertFalse(closer.isAlive());
        }
    }
}
