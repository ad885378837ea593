package org.kafkabi.bench;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The contenders of Apache's Java client. */
final class Apache {
    private static final Duration WAIT = Duration.ofSeconds(30);

    private Apache() {}

    private static Properties properties(String... pairs) {
        Properties properties = new Properties();
        for (int i = 0; i < pairs.length; i += 2) {
            properties.put(pairs[i], pairs[i + 1]);
        }
        return properties;
    }

    abstract static class Sending implements Contender {
        final KafkaProducer<byte[], byte[]> producer;
        final String topic;
        final byte[] value;
        int failures;

        Sending(String bootstrap, String topic, int bytes) {
            producer = new KafkaProducer<>(
                    properties("bootstrap.servers", bootstrap, "linger.ms", Integer.toString(Bench.LINGER_MS)),
                    new ByteArraySerializer(), new ByteArraySerializer());
            this.topic = topic;
            value = Contender.payload(bytes);
        }

        void finish() {
            producer.flush();
            if (failures > 0) {
                throw new IllegalStateException(failures + " records failed");
            }
        }

        @Override
        public void close() {
            producer.close();
        }
    }

    static final class Callback extends Sending {
        Callback(String bootstrap, String topic, int bytes) {
            super(bootstrap, topic, bytes);
        }

        @Override
        public void round(int messages) {
            for (int i = 0; i < messages; i++) {
                producer.send(new ProducerRecord<>(topic, value), (metadata, failure) -> failures += failure == null ? 0 : 1);
            }
            finish();
        }
    }

    static final class Futures extends Sending {
        Futures(String bootstrap, String topic, int bytes) {
            super(bootstrap, topic, bytes);
        }

        @Override
        public void round(int messages) throws Exception {
            ArrayDeque<Future<?>> window = new ArrayDeque<>();
            for (int i = 0; i < messages; i++) {
                window.add(producer.send(new ProducerRecord<>(topic, value)));
                if (window.size() > Bench.WINDOW) {
                    window.remove().get();
                }
            }
            finish();
        }
    }

    static final class Poll implements Contender {
        private final KafkaConsumer<byte[], byte[]> consumer;
        private final List<TopicPartition> partitions;
        long bytes;

        Poll(String bootstrap, String topic) {
            consumer = new KafkaConsumer<>(properties("bootstrap.servers", bootstrap, "auto.offset.reset", "earliest"),
                    new ByteArrayDeserializer(), new ByteArrayDeserializer());
            partitions = Bench.partitions(TopicPartition::new, topic);
            consumer.assign(partitions);
        }

        @Override
        public void round(int messages) {
            consumer.seekToBeginning(partitions);
            int seen = 0;
            while (seen < messages) {
                ConsumerRecords<byte[], byte[]> batch = consumer.poll(WAIT);
                for (var record : batch) {
                    bytes += record.value().length + record.value()[0];
                }
                seen += batch.count();
            }
        }

        @Override
        public void close() {
            consumer.close();
        }
    }
}
