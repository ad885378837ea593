package org.kafkabi.bench;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.concurrent.Future;
import org.kafkabi.Config;
import org.kafkabi.Consumer;
import org.kafkabi.Producer;
import org.kafkabi.Record;
import org.kafkabi.RecordBatch;
import org.kafkabi.RecordView;

/** The contenders of this library. */
final class Kafkabi {
    private static final Duration WAIT = Duration.ofSeconds(30);

    private Kafkabi() {}

    abstract static class Sending implements Contender {
        final Producer producer;
        final String topic;
        final byte[] value;
        int failures;

        Sending(String bootstrap, String topic, int bytes) {
            producer = new Producer(Config.of(bootstrap).set("linger.ms", Bench.LINGER_MS));
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
                producer.send(Record.of(topic, null, value), (metadata, failure) -> failures += failure == null ? 0 : 1);
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
                window.add(producer.send(Record.of(topic, null, value)));
                if (window.size() > Bench.WINDOW) {
                    window.remove().get();
                }
            }
            finish();
        }
    }

    abstract static class Reading implements Contender {
        final Consumer consumer;
        long bytes;

        Reading(String bootstrap, String topic) {
            consumer = new Consumer(Config.of(bootstrap).set("auto.offset.reset", "earliest"));
            consumer.assign(Bench.partitions(org.kafkabi.TopicPartition::new, topic));
        }

        @Override
        public void round(int messages) {
            consumer.seekToBeginning(List.of());
            int seen = 0;
            while (seen < messages) {
                seen += pollOnce();
            }
        }

        abstract int pollOnce();

        @Override
        public void close() {
            consumer.close();
        }
    }

    static final class Poll extends Reading {
        Poll(String bootstrap, String topic) {
            super(bootstrap, topic);
        }

        @Override
        int pollOnce() {
            RecordBatch batch = consumer.poll(WAIT);
            for (Record record : batch) {
                bytes += record.value().length + record.value()[0];
            }
            return batch.count();
        }
    }

    static final class Views extends Reading {
        Views(String bootstrap, String topic) {
            super(bootstrap, topic);
        }

        @Override
        int pollOnce() {
            RecordView view = consumer.pollViews(WAIT);
            int seen = 0;
            while (view.next()) {
                bytes += view.valueLength() + view.valueByte(0);
                seen++;
            }
            return seen;
        }
    }
}
