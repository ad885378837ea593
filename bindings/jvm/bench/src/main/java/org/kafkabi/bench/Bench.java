package org.kafkabi.bench;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.kafkabi.Config;
import org.kafkabi.Consumer;
import org.kafkabi.Producer;
import org.kafkabi.Record;
import org.kafkabi.RecordBatch;
import org.kafkabi.RecordView;
import org.kafkabi.TopicPartition;

/**
 * One measurement in a process of its own: {@code Bench CASE BOOTSTRAP TOPIC BYTES MESSAGES ROUNDS}. The cases are
 * kafkabi-callback, kafkabi-future, kafkabi-poll, kafkabi-views, java-callback, java-future and java-poll. A line is
 * printed for each round; the first ones warm up.
 */
public final class Bench {
    private static final Duration WAIT = Duration.ofSeconds(30);

    /** Futures that are kept until they are looked at, as a program does that checks each. */
    private static final int WINDOW = 10_000;

    private Bench() {}

    private static int failures;

    public static void main(String[] arguments) throws Exception {
        String kind = arguments[0];
        String bootstrap = arguments[1];
        String topic = arguments[2];
        byte[] value = new byte[Integer.parseInt(arguments[3])];
        int messages = Integer.parseInt(arguments[4]);
        int rounds = Integer.parseInt(arguments[5]);
        for (int i = 0; i < value.length; i++) {
            value[i] = (byte) ('a' + i % 26);
        }
        switch (kind) {
            case "kafkabi-callback", "kafkabi-future" -> sendByKafkabi(kind, bootstrap, topic, value, messages, rounds);
            case "java-callback", "java-future" -> sendByJava(kind, bootstrap, topic, value, messages, rounds);
            case "kafkabi-poll", "kafkabi-views" -> readByKafkabi(kind, bootstrap, topic, messages, rounds);
            case "java-poll" -> readByJava(kind, bootstrap, topic, messages, rounds);
            default -> throw new IllegalArgumentException("there is no case " + kind);
        }
        if (failures > 0) {
            throw new IllegalStateException(failures + " records failed");
        }
    }

    private static void sendByKafkabi(String kind, String bootstrap, String topic, byte[] value, int messages, int rounds)
            throws Exception {
        try (Producer producer = new Producer(Config.of(bootstrap).set("linger.ms", 5))) {
            for (int round = 1; round <= rounds; round++) {
                Meter meter = new Meter();
                if (kind.endsWith("callback")) {
                    for (int i = 0; i < messages; i++) {
                        producer.send(Record.of(topic, null, value), (metadata, failure) -> count(failure));
                    }
                } else {
                    ArrayDeque<Future<?>> window = new ArrayDeque<>();
                    for (int i = 0; i < messages; i++) {
                        window.add(producer.send(Record.of(topic, null, value)));
                        if (window.size() > WINDOW) {
                            window.remove().get();
                        }
                    }
                }
                producer.flush();
                meter.report(kind, round, messages);
            }
        }
    }

    private static void count(Exception failure) {
        if (failure != null) {
            failures++;
        }
    }

    private static void sendByJava(String kind, String bootstrap, String topic, byte[] value, int messages, int rounds)
            throws Exception {
        Properties properties = new Properties();
        properties.putAll(Map.of("bootstrap.servers", bootstrap, "linger.ms", "5"));
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (int round = 1; round <= rounds; round++) {
                Meter meter = new Meter();
                if (kind.endsWith("callback")) {
                    for (int i = 0; i < messages; i++) {
                        producer.send(new ProducerRecord<>(topic, value), (metadata, failure) -> count(failure));
                    }
                } else {
                    ArrayDeque<Future<?>> window = new ArrayDeque<>();
                    for (int i = 0; i < messages; i++) {
                        window.add(producer.send(new ProducerRecord<>(topic, value)));
                        if (window.size() > WINDOW) {
                            window.remove().get();
                        }
                    }
                }
                producer.flush();
                meter.report(kind, round, messages);
            }
        }
    }

    private static void readByKafkabi(String kind, String bootstrap, String topic, int messages, int rounds) {
        try (Consumer consumer = new Consumer(Config.of(bootstrap).set("auto.offset.reset", "earliest"))) {
            TopicPartition partition = new TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            long bytes = 0;
            for (int round = 1; round <= rounds; round++) {
                consumer.seekToBeginning(List.of());
                bytes += kind.endsWith("views") ? first(consumer.pollViews(WAIT)) : consumer.poll(WAIT).count();
                consumer.seekToBeginning(List.of());
                Meter meter = new Meter();
                long seen = 0;
                while (seen < messages) {
                    if (kind.endsWith("views")) {
                        RecordView view = consumer.pollViews(WAIT);
                        while (view.next()) {
                            bytes += view.valueLength() + view.valueByte(0);
                            seen++;
                        }
                    } else {
                        RecordBatch batch = consumer.poll(WAIT);
                        for (Record record : batch) {
                            bytes += record.value().length + record.value()[0];
                        }
                        seen += batch.count();
                    }
                }
                meter.report(kind, round, seen);
            }
            System.out.println("checked " + bytes);
        }
    }

    private static int first(RecordView view) {
        return view.count();
    }

    private static void readByJava(String kind, String bootstrap, String topic, int messages, int rounds) {
        Properties properties = new Properties();
        properties.putAll(Map.of("bootstrap.servers", bootstrap, "auto.offset.reset", "earliest"));
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            var partition = new org.apache.kafka.common.TopicPartition(topic, 0);
            consumer.assign(List.of(partition));
            long bytes = 0;
            for (int round = 1; round <= rounds; round++) {
                consumer.seekToBeginning(List.of(partition));
                bytes += consumer.poll(WAIT).count();
                consumer.seekToBeginning(List.of(partition));
                Meter meter = new Meter();
                long seen = 0;
                while (seen < messages) {
                    ConsumerRecords<byte[], byte[]> batch = consumer.poll(WAIT);
                    for (var record : batch) {
                        bytes += record.value().length + record.value()[0];
                    }
                    seen += batch.count();
                }
                meter.report(kind, round, seen);
            }
            System.out.println("checked " + bytes);
        }
    }
}
