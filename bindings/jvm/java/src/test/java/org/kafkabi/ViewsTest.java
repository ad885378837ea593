package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Views of records: they allocate nothing, and end with their batch. */
@Timeout(120)
class ViewsTest {
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final int RECORDS = 10_000;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static EmbeddedCluster cluster;

    @BeforeAll
    static void start() {
        cluster = EmbeddedCluster.start().createTopic("views", 1);
        try (Producer producer = new Producer(cluster.config())) {
            for (int i = 0; i < RECORDS; i++) {
                producer.send(Record.of("views", "key", "value " + i).withHeaders(Header.of("name", "text")), null);
            }
        }
    }

    @AfterAll
    static void stop() {
        cluster.close();
    }

    private static Consumer consumer() {
        Consumer consumer = new Consumer(
                cluster.config().set("auto.offset.reset", "earliest").set("max.poll.records", RECORDS / 10));
        consumer.assign(List.of(new TopicPartition("views", 0)));
        return consumer;
    }

    @Test
    void walkingThemAllocatesNothing() {
        byte[] into = new byte[100];
        try (Consumer consumer = consumer()) {
            long least = Long.MAX_VALUE;
            int seen = 0;
            while (seen < RECORDS) {
                RecordView view = consumer.pollViews(LONG);
                long before = THREADS.getCurrentThreadAllocatedBytes();
                walk(view, into);
                long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
                least = Math.min(least, allocated);
                seen += view.count();
            }
            // What a record allocates each batch does; the virtual machine has something of its own to allocate now and then.
            assertEquals(0, least, "bytes allocated in the best of the batches");
            assertEquals(RECORDS, seen);
        }
    }

    /** Everything of a view that does not say that it copies. */
    private static void walk(RecordView view, byte[] into) {
        while (view.next()) {
            int length = view.valueLength();
            boolean asSent = view.topic().equals("views") && view.partition() == 0 && view.offset() >= 0
                    && view.timestamp() > 0 && view.timestampType() == TimestampType.CREATE_TIME && view.leaderEpoch() >= -1
                    && view.keyLength() == 3 && view.headerCount() == 1 && view.keyByte(0) == 'k' && view.valueByte(0) == 'v'
                    && view.key(into, 0) == 3 && view.value(into, 3) == length && into[3] == 'v';
            if (!asSent) {
                throw new AssertionError("another record than was sent, at offset " + view.offset());
            }
        }
    }

    @Test
    void thoseOfAnEarlierPollThrow() {
        try (Consumer consumer = consumer()) {
            RecordView view = consumer.pollViews(LONG);
            assertTrue(view.next());
            Record copy = view.copy();
            byte[] value = view.value();
            consumer.pollViews(Duration.ZERO);
            assertThrows(IllegalStateException.class, view::next);
            assertThrows(IllegalStateException.class, view::offset);
            assertThrows(IllegalStateException.class, view::value);
            assertThrows(IllegalStateException.class, () -> view.value(new byte[100], 0));
            assertEquals("value 0", copy.valueText());
            assertEquals("value 0", new String(value));
            RecordView later = consumer.pollViews(Duration.ZERO);
            consumer.poll(Duration.ZERO);
            assertThrows(IllegalStateException.class, later::next);
        }
    }

    @Test
    void theyStandAtARecordOnlyAfterNext() {
        try (Consumer consumer = consumer()) {
            RecordView view = consumer.pollViews(LONG);
            assertThrows(IllegalStateException.class, view::offset);
            for (int i = 0; i < view.count(); i++) {
                assertTrue(view.next());
            }
            assertFalse(view.next());
            assertThrows(IllegalStateException.class, view::offset);
            assertFalse(view.next());
        }
    }
}
