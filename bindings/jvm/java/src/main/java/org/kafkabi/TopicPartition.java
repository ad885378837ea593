package org.kafkabi;

import java.util.Objects;

/**
 * A partition of a topic.
 *
 * @param topic the topic's name
 * @param partition the partition, from 0
 */
public record TopicPartition(String topic, int partition) implements Comparable<TopicPartition> {
    /** Refuses a null topic and a negative partition. */
    public TopicPartition {
        Objects.requireNonNull(topic, "the topic of a partition is null");
        if (partition < 0) {
            throw new IllegalArgumentException("partition " + partition + " of topic " + topic + ": partitions count from 0");
        }
    }

    /** By topic, then by partition. */
    @Override
    public int compareTo(TopicPartition other) {
        int byTopic = topic.compareTo(other.topic);
        return byTopic != 0 ? byTopic : Integer.compare(partition, other.partition);
    }

    /** Such as "orders-3". */
    @Override
    public String toString() {
        return topic + "-" + partition;
    }
}
