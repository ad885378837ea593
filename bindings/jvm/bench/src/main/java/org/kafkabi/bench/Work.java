package org.kafkabi.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;

/** What contenders work on: the same brokers, topic, sizes and properties for all that are compared. */
public record Work(String bootstrap, String topic, int bytes) {
    /** Futures that are kept until they are looked at, as a program does that checks each. */
    public static final int WINDOW = 10_000;

    static final int PARTITIONS = 4;
    static final int LINGER_MS = 5;

    /** The properties of a producer; by Apache's names, which both clients take. */
    public Map<String, String> producer() {
        String batch = System.getenv("KAFKABI_BENCH_BATCH");
        return batch == null
                ? Map.of("bootstrap.servers", bootstrap, "linger.ms", Integer.toString(LINGER_MS))
                : Map.of("bootstrap.servers", bootstrap, "linger.ms", Integer.toString(LINGER_MS), "batch.size", batch);
    }

    /** The properties of a consumer. */
    public Map<String, String> consumer() {
        return Map.of("bootstrap.servers", bootstrap, "auto.offset.reset", "earliest");
    }

    <T> List<T> partitions(BiFunction<String, Integer, T> make) {
        List<T> partitions = new ArrayList<>();
        for (int i = 0; i < PARTITIONS; i++) {
            partitions.add(make.apply(topic, i));
        }
        return partitions;
    }

    /** How many partitions the topic has. */
    public int partitionCount() {
        return PARTITIONS;
    }
}
