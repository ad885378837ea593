package org.kafkabi;

import java.util.Map;

/** Is told what became of a commit that nobody waits for. */
@FunctionalInterface
public interface CommitCallback {
    /**
     * Called once, inside a later poll, commit or close, on its thread.
     *
     * @param offsets what was to be committed
     * @param failure null if it is
     */
    void onCompletion(Map<TopicPartition, OffsetAndMetadata> offsets, KafkaException failure);
}
