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
import org.kafkabi.TopicPartition;

/** The contenders of this library. */
final class Kafkabi {
    private static final Duration WAIT = Duration.ofSeconds(30);

    private Kafkabi() {}

    abstract static class Sending implements Contender {
        final Producer producer;
        final String topic;
        final byte[] value;
        int failures;

        Sending(Work work) {
            producer = new Producer(Config.of(work.producer()));
            topic = work.topic();
            value = Contender.payload(work.bytes());
        }

        @Override
        public void ready() throws Exception {
            producer.send(Record.of(topic, null, value)).get();
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
                producer.send(Record.of(topic, null, value), (metadata, failure) -> failures += failure == null ? 0 : 1);
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
                window.add(producer.send(Record.of(topic, null, value)));
                if (window.size() > Work.WINDOW) {
                    window.remove().get();
                }
            }
            finish();
        }
    }

    abstract static class Reading implements Contender {
        final Consumer consumer;
        private final List<TopicPartition> partitions;
        long bytes;

        Reading(Work work) {
            consumer = new Consumer(Config.of(work.consumer()));
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
                seen += pollOnce();
                meter.received(seen);
            }
        }

        abstract int pollOnce();

        @Override
        public void close() {
            consumer.close();
        }
    }

    static final class Poll extends Reading {
        Poll(Work work) {
            super(work);
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
        Views(Work work) {
            super(work);
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
