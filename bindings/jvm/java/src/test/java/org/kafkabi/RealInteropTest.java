package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What one client writes the other reads, on a real broker: profile "single" of tests/kafka/broker. */
@Timeout(240)
@EnabledIfEnvironmentVariable(named = RealInteropTest.BROKER, matches = ".+")
class RealInteropTest {
    static final String BROKER = "KABI_KAFKA_SINGLE";
    private static final Duration LONG = Duration.ofSeconds(30);
    private static final long TIMESTAMP = 1_600_000_000_000L;

    private static Admin admin;

    @BeforeAll
    static void start() {
        admin = new Admin(config());
    }

    @AfterAll
    static void stop() {
        admin.close();
    }

    private static Config config() {
        return Config.of(System.getenv(BROKER));
    }

    private static long endOffset(Consumer consumer, TopicPartition partition) {
        try {
            return consumer.endOffsets(List.of(partition)).get(partition);
        } catch (KafkaException notYet) {
            return -1;
        }
    }

    private static String topic(int partitions) throws Exception {
        String topic = "java-interop-" + Long.toString(System.nanoTime(), 36);
        admin.createTopic(topic, partitions, 1);
        // Until the broker serves them all: it refuses the first batch of a pipeline to a partition that it is still making,
        // takes the second, and then has Apache's client send the first in vain until it gives up.
        try (Consumer consumer = new Consumer(config())) {
            for (int i = 0; i < partitions; i++) {
                TopicPartition partition = new TopicPartition(topic, i);
                RealAdminTest.until(ends -> ends.equals(0L), () -> endOffset(consumer, partition));
            }
        }
        return topic;
    }

    private static Properties properties(String... pairs) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", System.getenv(BROKER));
        for (int i = 0; i < pairs.length; i += 2) {
            properties.put(pairs[i], pairs[i + 1]);
        }
        return properties;
    }

    private static KafkaProducer<byte[], byte[]> apacheProducer(String... pairs) {
        return new KafkaProducer<>(properties(pairs), new ByteArraySerializer(), new ByteArraySerializer());
    }

    /** Everything from the beginning, of the topic's only partition, by Apache's client. */
    private static List<ConsumerRecord<byte[], byte[]>> apacheRead(String topic, int count, String... pairs) {
        Properties properties = properties(pairs);
        properties.put("auto.offset.reset", "earliest");
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(new org.apache.kafka.common.TopicPartition(topic, 0)));
            List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
            long end = System.nanoTime() + LONG.toNanos();
            while (records.size() < count && System.nanoTime() < end) {
                consumer.poll(Duration.ofSeconds(1)).forEach(records::add);
            }
            return records;
        }
    }

    /** As {@link #apacheRead}, by this library. */
    private static List<Record> read(String topic, int count, Config config) {
        try (Consumer consumer = new Consumer(config.set("auto.offset.reset", "earliest"))) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            List<Record> records = new ArrayList<>();
            long end = System.nanoTime() + LONG.toNanos();
            while (records.size() < count && System.nanoTime() < end) {
                records.addAll(consumer.poll(Duration.ofSeconds(1)).records());
            }
            return records;
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static List<Record> samples(String topic) {
        List<Record> samples = new ArrayList<>(List.of(
                Record.of(topic, "key", "value").withTimestamp(TIMESTAMP),
                Record.of(topic, null, "no key").withTimestamp(TIMESTAMP + 1),
                Record.of(topic, "tombstone", null).withTimestamp(TIMESTAMP + 2),
                Record.of(topic, (byte[]) null, null).withTimestamp(TIMESTAMP + 3),
                Record.of(topic, "", "").withTimestamp(1),
                Record.of(topic, "headers", "x").withTimestamp(TIMESTAMP).withHeaders(Header.of("a", "1"),
                        Header.of("a", "2"), new Header("null", null), Header.of("empty", ""), Header.of("größe", "ß"))));
        for (int i = 0; i < 200; i++) {
            samples.add(Record.of(topic, "k" + i, "compressible ".repeat(i)).withTimestamp(TIMESTAMP + i));
        }
        return samples;
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "gzip", "snappy", "lz4", "zstd"})
    void apachesClientReadsWhatThisOneWrites(String codec) throws Exception {
        String topic = topic(1);
        List<Record> sent = samples(topic);
        try (Producer producer = new Producer(config().set("compression.type", codec).set("linger.ms", 50))) {
            List<CompletableFuture<RecordMetadata>> futures = new ArrayList<>();
            sent.forEach(record -> futures.add(producer.send(record)));
            for (int i = 0; i < sent.size(); i++) {
                assertEquals(i, futures.get(i).get(30, TimeUnit.SECONDS).offset());
            }
        }
        List<ConsumerRecord<byte[], byte[]>> received = apacheRead(topic, sent.size());
        assertEquals(sent.size(), received.size());
        for (int i = 0; i < sent.size(); i++) {
            Record record = sent.get(i);
            ConsumerRecord<byte[], byte[]> other = received.get(i);
            assertArrayEquals(record.key(), other.key());
            assertArrayEquals(record.value(), other.value());
            assertEquals(record.timestamp(), other.timestamp());
            List<Header> headers = new ArrayList<>();
            other.headers().forEach(header -> headers.add(new Header(header.key(), header.value())));
            assertEquals(record.headers(), headers);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"none", "gzip", "snappy", "lz4", "zstd"})
    void thisClientReadsWhatApachesWrites(String codec) throws Exception {
        String topic = topic(1);
        List<Record> samples = samples(topic);
        try (KafkaProducer<byte[], byte[]> producer = apacheProducer("compression.type", codec, "linger.ms", "50")) {
            List<Future<?>> futures = new ArrayList<>();
            for (Record record : samples) {
                ProducerRecord<byte[], byte[]> other =
                        new ProducerRecord<>(topic, null, record.timestamp(), record.key(), record.value());
                record.headers().forEach(header -> other.headers().add(header.name(), header.value()));
                futures.add(producer.send(other));
            }
            for (Future<?> future : futures) {
                future.get(30, TimeUnit.SECONDS);
            }
        }
        List<Record> received = read(topic, samples.size(), config());
        assertEquals(samples.size(), received.size());
        for (int i = 0; i < samples.size(); i++) {
            assertArrayEquals(samples.get(i).key(), received.get(i).key());
            assertArrayEquals(samples.get(i).value(), received.get(i).value());
            assertEquals(samples.get(i).timestamp(), received.get(i).timestamp());
            assertEquals(TimestampType.CREATE_TIME, received.get(i).timestampType());
            assertEquals(samples.get(i).headers(), received.get(i).headers());
            assertEquals(i, received.get(i).offset());
        }
    }

    @Test
    void bothSendAKeyToTheSamePartition() throws Exception {
        String topic = topic(7);
        Random random = new Random(7);
        List<byte[]> keys = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            byte[] key = new byte[1 + random.nextInt(40)];
            random.nextBytes(key);
            keys.add(key);
        }
        Set<Integer> used = new HashSet<>();
        try (Producer ours = new Producer(config()); KafkaProducer<byte[], byte[]> apaches = apacheProducer()) {
            List<CompletableFuture<RecordMetadata>> one = new ArrayList<>();
            List<Future<org.apache.kafka.clients.producer.RecordMetadata>> other = new ArrayList<>();
            for (byte[] key : keys) {
                one.add(ours.send(Record.of(topic, key, null)));
                other.add(apaches.send(new ProducerRecord<>(topic, key, null)));
            }
            for (int i = 0; i < keys.size(); i++) {
                int partition = other.get(i).get(30, TimeUnit.SECONDS).partition();
                assertEquals(partition, one.get(i).get(30, TimeUnit.SECONDS).partition());
                used.add(partition);
            }
        }
        assertEquals(7, used.size());
    }

    @Test
    void apachesClientSeesOnlyWhatThisOneCommits() throws Exception {
        String topic = topic(1);
        try (Producer producer = new Producer(config().set("transactional.id", topic))) {
            Transactions transactions = producer.transactions();
            transactions.init();
            for (String outcome : List.of("committed 1", "aborted", "committed 2")) {
                transactions.begin();
                RecordMetadata metadata = producer.send(Record.of(topic, outcome)).get(30, TimeUnit.SECONDS);
                assertTrue(metadata.hasOffset());
                if (outcome.equals("aborted")) {
                    transactions.abort();
                } else {
                    transactions.commit();
                }
            }
        }
        assertEquals(List.of("committed 1", "committed 2"), texts(apacheRead(topic, 2, "isolation.level", "read_committed")));
        assertEquals(List.of("committed 1", "aborted", "committed 2"), texts(apacheRead(topic, 3)));
    }

    private static List<String> texts(List<ConsumerRecord<byte[], byte[]>> records) {
        return records.stream().map(record -> new String(record.value(), StandardCharsets.UTF_8)).toList();
    }

    @Test
    void thisClientSeesOnlyWhatApachesCommits() throws Exception {
        String topic = topic(1);
        try (KafkaProducer<byte[], byte[]> producer = apacheProducer("transactional.id", topic)) {
            producer.initTransactions();
            for (String outcome : List.of("committed 1", "aborted", "committed 2")) {
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, bytes(outcome)));
                producer.flush();
                if (outcome.equals("aborted")) {
                    producer.abortTransaction();
                } else {
                    producer.commitTransaction();
                }
            }
        }
        assertEquals(List.of("committed 1", "committed 2"),
                read(topic, 2, config().set("isolation.level", "read_committed")).stream().map(Record::valueText).toList());
        assertEquals(List.of("committed 1", "aborted", "committed 2"),
                read(topic, 3, config()).stream().map(Record::valueText).toList());
    }

    /** A program that moves from one client to the other goes on where it was. */
    @Test
    void oneReadsOnWhereTheOtherCommitted() throws Exception {
        String topic = topic(1);
        String group = topic + "-group";
        try (Producer producer = new Producer(config())) {
            for (int i = 0; i < 10; i++) {
                producer.send(Record.of(topic, "value " + i), null);
            }
        }
        TopicPartition partition = new TopicPartition(topic, 0);
        var apaches = new org.apache.kafka.common.TopicPartition(topic, 0);
        try (Consumer consumer = new Consumer(config().set("group.id", group).set("enable.auto.commit", false))) {
            consumer.assign(List.of(partition));
            consumer.commit(Map.of(partition, new OffsetAndMetadata(4, "by kafkabi")));
        }
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                properties("group.id", group, "enable.auto.commit", "false", "max.poll.records", "1"),
                new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(apaches));
            assertEquals("by kafkabi", consumer.committed(Set.of(apaches)).get(apaches).metadata());
            assertEquals(4, consumer.poll(LONG).iterator().next().offset());
            consumer.commitSync(Map.of(apaches, new org.apache.kafka.clients.consumer.OffsetAndMetadata(7, "by Apache's")));
        }
        try (Consumer consumer = new Consumer(config().set("group.id", group).set("enable.auto.commit", false))) {
            consumer.assign(List.of(partition));
            assertEquals("by Apache's", consumer.committed(List.of(partition)).get(partition).metadata());
            assertEquals(7, consumer.poll(LONG).records().get(0).offset());
        }
    }

    /** Both in one group: each partition has one reader, and every record is read once. */
    @Test
    void bothShareAGroup() throws Exception {
        String topic = topic(4);
        String group = topic + "-group";
        Map<String, String> seen = new LinkedHashMap<>();
        try (Consumer ours = new Consumer(config().set("group.id", group).set("auto.offset.reset", "earliest"));
                KafkaConsumer<byte[], byte[]> apaches = new KafkaConsumer<>(
                        properties("group.id", group, "auto.offset.reset", "earliest",
                                "partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor"),
                        new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            ours.subscribe(List.of(topic));
            apaches.subscribe(List.of(topic));
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
            while ((ours.assignment().size() != 2 || apaches.assignment().size() != 2) && System.nanoTime() < end) {
                ours.poll(Duration.ofMillis(100));
                apaches.poll(Duration.ofMillis(100));
            }
            assertEquals(2, ours.assignment().size());
            assertEquals(2, apaches.assignment().size());
            try (Producer producer = new Producer(config())) {
                for (int i = 0; i < 40; i++) {
                    producer.send(Record.of(topic, "v" + i).withPartition(i % 4), null);
                }
            }
            while (seen.size() < 40 && System.nanoTime() < end) {
                ours.poll(Duration.ofMillis(100)).forEach(record -> seen.merge(record.valueText(), "ours", String::concat));
                apaches.poll(Duration.ofMillis(100)).forEach(record ->
                        seen.merge(new String(record.value(), StandardCharsets.UTF_8), "apaches", String::concat));
            }
        }
        assertEquals(20, seen.values().stream().filter("ours"::equals).count());
        assertEquals(20, seen.values().stream().filter("apaches"::equals).count());
    }
}
