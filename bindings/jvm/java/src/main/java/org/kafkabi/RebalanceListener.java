package org.kafkabi;

import java.util.Collection;

/**
 * Is told when the group gives partitions to a consumer and takes them back. Called inside {@code poll}, on the thread
 * that polls, before any record of the new assignment is handed out; and inside {@code unsubscribe} and {@code close}.
 * It may commit, seek, pause and ask for positions. What it throws comes out of the poll, in a {@link KafkaException};
 * the change takes place all the same.
 */
public interface RebalanceListener {
    /** These partitions are the consumer's now, besides those that it has. */
    default void onPartitionsAssigned(Collection<TopicPartition> partitions) {}

    /** These partitions are about to go; what is handled of them can still be committed. */
    default void onPartitionsRevoked(Collection<TopicPartition> partitions) {}

    /** These partitions have gone already, because the consumer was not heard of; commits of them fail. */
    default void onPartitionsLost(Collection<TopicPartition> partitions) {
        onPartitionsRevoked(partitions);
    }
}
