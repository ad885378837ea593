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

    abstract static class Sending implements Contender {
        final KafkaProducer<byte[], byte[]> producer;
        final String topic;
        final byte[] value;
        int failures;

        Sending(Work work) {
            Properties properties = new Properties();
            properties.putAll(work.producer());
            producer = new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
            topic = work.topic();
            value = Contender.payload(work.bytes());
        }

        @Override
        public void ready() throws Exception {
            producer.send(new ProducerRecord<>(topic, value)).get();
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
        Callback(Work work) {
            super(work);
        }

        @Override
        public void run(int messages, Meter meter) {
            for (int i = 0; i < messages; i++) {
                producer.send(new ProducerRecord<>(topic, value), (metadata, failure) -> failures += failure == null ? 0 : 1);
            }
            finish();
        }
    }

    static final class Futures extends Sending {
        Futures(Work work) {
            super(work);
        }

        @Override
        public void run(int messages, Meter meter) throws Exception {
            ArrayDeque<Future<?>> window = new ArrayDeque<>();
            for (int i = 0; i < messages; i++) {
                window.add(producer.send(new ProducerRecord<>(topic, value)));
                if (window.size() > Work.WINDOW) {
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

        Poll(Work work) {
            Properties properties = new Properties();
            properties.putAll(work.consumer());
            consumer = new KafkaConsumer<>(properties, new ByteArrayDeserializer(), new ByteArrayDeserializer());
            partitions = work.partitions(TopicPartition::new);
        }

        @Override
        public void ready() {
            consumer.beginningOffsets(partitions);
        }

        @Override
        public void run(int messages, Meter meter) {
            consumer.assign(partitions);
            int seen = 0;
            while (seen < messages) {
                ConsumerRecords<byte[], byte[]> batch = consumer.poll(WAIT);
                for (var record : batch) {
                    bytes += record.value().length + record.value()[0];
                }
                seen += batch.count();
                meter.received(seen);
            }
        }

        @Override
        public void close() {
            consumer.close();
        }
    }
}
