package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Many threads, many records, and a collector that never rests. */
@Timeout(240)
class LoadTest {
    private static final Duration LONG = Duration.ofSeconds(30);

    /** Each thread has a partition of its own, so that the offsets show the order in which its records went. */
    @Test
    void fiveThreadsSendAHundredThousandEach() throws Exception {
        int threads = 5;
        int each = 100_000;
        AtomicReference<Throwable> wrong = new AtomicReference<>();
        AtomicLongArray next = new AtomicLongArray(threads);
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("five", threads);
                Producer producer = new Producer(cluster.config())) {
            List<Thread> senders = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                int partition = i;
                Thread sender = new Thread(() -> {
                    Record record = Record.of("five", "value").withPartition(partition);
                    for (int number = 0; number < each; number++) {
                        producer.send(record, (metadata, failure) -> {
                            if (failure != null) {
                                wrong.compareAndSet(null, failure);
                            } else if (next.getAndIncrement(partition) != metadata.offset()) {
                                wrong.compareAndSet(null, new AssertionError("out of order: " + metadata));
                            }
                        });
                    }
                });
                sender.setUncaughtExceptionHandler((thread, thrown) -> wrong.compareAndSet(null, thrown));
                senders.add(sender);
                sender.start();
            }
            for (Thread sender : senders) {
                sender.join();
            }
            producer.flush();
            assertNull(wrong.get());
            for (int i = 0; i < threads; i++) {
                assertEquals(each, next.get(i));
            }
            assertEquals(0, producer.outstanding());
        }
    }

    /** What crosses by its address must not move or go while it is used. */
    @Test
    void aStormOfCollectionsDisturbsNothing() throws Exception {
        int count = 20_000;
        AtomicBoolean done = new AtomicBoolean();
        Thread storm = new Thread(() -> {
            while (!done.get()) {
                byte[][] garbage = new byte[64][];
                for (int i = 0; i < garbage.length; i++) {
                    garbage[i] = new byte[1024];
                }
                System.gc();
            }
        });
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("storm", 1);
                Consumer consumer = new Consumer(cluster.config().set("auto.offset.reset", "earliest")
                        .set("group.id", "storm").set("enable.auto.commit", false))) {
            storm.start();
            List<CompletableFuture<RecordMetadata>> futures = new ArrayList<>();
            try (Producer producer = new Producer(cluster.config())) {
                for (int i = 0; i < count; i++) {
                    futures.add(producer.send(Record.of("storm", "key " + i, text(i)).withHeaders(Header.of("n", text(i)))));
                }
            }
            for (int i = 0; i < count; i++) {
                assertEquals(i, futures.get(i).get(30, TimeUnit.SECONDS).offset());
            }
            consumer.assign(List.of(new TopicPartition("storm", 0)));
            for (int seen = 0; seen < count / 2;) {
                for (Record record : consumer.poll(LONG)) {
                    check(seen++, record);
                }
            }
            consumer.seek(new TopicPartition("storm", 0), 0);
            for (int seen = 0; seen < count;) {
                RecordView view = consumer.pollViews(LONG);
                while (view.next()) {
                    assertEquals(text(seen), new String(view.value(), StandardCharsets.UTF_8));
                    check(seen++, view.copy());
                }
            }
            TopicPartition partition = new TopicPartition("storm", 0);
            for (int i = 0; i < 50; i++) {
                consumer.commitAsync(Map.of(partition, new OffsetAndMetadata(i, text(i)))).get(30, TimeUnit.SECONDS);
                assertEquals(text(i), consumer.committed(List.of(partition)).get(partition).metadata());
            }
        } finally {
            done.set(true);
            storm.join();
        }
    }

    private static String text(int number) {
        return "value " + number + " " + "x".repeat(number % 50);
    }

    private static void check(int number, Record record) {
        assertEquals(number, record.offset());
        assertEquals("key " + number, record.keyText());
        assertEquals(text(number), record.valueText());
        assertEquals(text(number), record.header("n").text());
    }
}
