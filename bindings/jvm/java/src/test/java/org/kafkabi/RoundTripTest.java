package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Records that go through the embedded cluster and come back. */
@Timeout(120)
class RoundTripTest {
    private static final Duration LONG = Duration.ofSeconds(30);

    @Test
    void recordsComeBackAsTheyWereSent() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("things", 3)) {
            List<Record> sent = List.of(
                    Record.of("things", "key", "value").withPartition(0),
                    Record.of("things", null, "no key").withPartition(0),
                    Record.of("things", "tombstone", null).withPartition(0),
                    Record.of("things", "", "").withPartition(0),
                    Record.of("things", "h", "headers").withPartition(0).withTimestamp(1_600_000_000_000L)
                            .withHeaders(Header.of("a", "1"), Header.of("a", "2"), new Header("null", null),
                                    Header.of("empty", ""), Header.of("größe", "ß")));
            try (Producer producer = new Producer(cluster.config())) {
                List<CompletableFuture<RecordMetadata>> futures = new ArrayList<>();
                sent.forEach(record -> futures.add(producer.send(record)));
                for (int i = 0; i < futures.size(); i++) {
                    RecordMetadata metadata = futures.get(i).get(30, TimeUnit.SECONDS);
                    assertEquals("things", metadata.topic());
                    assertEquals(0, metadata.partition());
                    assertEquals(i, metadata.offset());
                }
            }
            try (Consumer consumer = new Consumer(cluster.config().set("group.id", "g").set("auto.offset.reset", "earliest"))) {
                consumer.subscribe(List.of("things"));
                List<Record> received = receive(consumer, sent.size());
                for (int i = 0; i < sent.size(); i++) {
                    assertArrayEquals(sent.get(i).key(), received.get(i).key());
                    assertArrayEquals(sent.get(i).value(), received.get(i).value());
                    assertEquals(sent.get(i).headers(), received.get(i).headers());
                    assertEquals(i, received.get(i).offset());
                    assertEquals(TimestampType.CREATE_TIME, received.get(i).timestampType());
                }
                assertEquals(1_600_000_000_000L, received.get(4).timestamp());
                assertEquals("ß", received.get(4).header("größe").text());
                assertNull(received.get(4).header("null").value());
                consumer.commit();
                TopicPartition partition = new TopicPartition("things", 0);
                assertEquals(5, consumer.committed(List.of(partition)).get(partition).offset());
                assertEquals(5, consumer.position(partition));
            }
        }
    }

    @Test
    void manyRecordsFromManyThreadsKeepTheirOrder() throws Exception {
        int threads = 4;
        int each = 50_000;
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("many", 4)) {
            List<Thread> senders = new ArrayList<>();
            try (Producer producer = new Producer(cluster.config())) {
                for (int t = 0; t < threads; t++) {
                    int partition = t;
                    Thread thread = new Thread(() -> {
                        for (int i = 0; i < each; i++) {
                            producer.send(Record.of("many", null, "" + i).withPartition(partition), null);
                        }
                    });
                    thread.start();
                    senders.add(thread);
                }
                for (Thread thread : senders) {
                    thread.join();
                }
                producer.flush();
                assertEquals(0, producer.outstanding());
            }
            try (Consumer consumer = new Consumer(cluster.config().set("enable.auto.commit", false).set("auto.offset.reset", "earliest")
                    .set("group.id", "g").set("max.poll.records", 5000))) {
                consumer.subscribe(List.of("many"));
                Map<Integer, Integer> next = new HashMap<>();
                int count = 0;
                while (count < threads * each) {
                    RecordView view = consumer.pollViews(LONG);
                    while (view.next()) {
                        String value = new String(view.value(), StandardCharsets.UTF_8);
                        assertEquals(next.getOrDefault(view.partition(), 0), Integer.parseInt(value));
                        next.merge(view.partition(), 1, (a, b) -> next.getOrDefault(view.partition(), 0) + 1);
                        count++;
                    }
                    assertTrue(view.count() > 0, "records ran out at " + count);
                }
                RecordView old = consumer.pollViews(Duration.ZERO);
                consumer.poll(Duration.ZERO);
                assertThrows(IllegalStateException.class, old::next);
            }
        }
    }

    static List<Record> receive(Consumer consumer, int count) {
        List<Record> received = new ArrayList<>();
        while (received.size() < count) {
            RecordBatch batch = consumer.poll(LONG);
            assertTrue(!batch.isEmpty(), "only " + received.size() + " of " + count + " records came");
            batch.forEach(received::add);
        }
        return received;
    }
}
