package org.kafkabi;

/**
 * Where a sent record has gone.
 *
 * @param topic the topic
 * @param partition the partition, or -1 if the record failed before one was chosen
 * @param offset its offset in the partition, or -1 if it is not known (always with acks=0)
 * @param timestamp its timestamp in milliseconds since 1970, or -1
 */
public record RecordMetadata(String topic, int partition, long offset, long timestamp) {
    /** Whether the broker told the offset. */
    public boolean hasOffset() {
        return offset >= 0;
    }
}
