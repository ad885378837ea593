package org.kafkabi;

import java.util.LinkedHashMap;
import java.util.Map;

/** Which offset of a partition to look up. */
public final class OffsetSpec {
    private static final OffsetSpec EARLIEST = new OffsetSpec("earliest", null);
    private static final OffsetSpec LATEST = new OffsetSpec("latest", null);
    private static final OffsetSpec MAX_TIMESTAMP = new OffsetSpec("max_timestamp", null);

    private final String at;
    private final Long timestamp;

    private OffsetSpec(String at, Long timestamp) {
        this.at = at;
        this.timestamp = timestamp;
    }

    /** That of the first record. */
    public static OffsetSpec earliest() {
        return EARLIEST;
    }

    /** That of the next record to be written. */
    public static OffsetSpec latest() {
        return LATEST;
    }

    /** That of the record with the largest timestamp. */
    public static OffsetSpec maxTimestamp() {
        return MAX_TIMESTAMP;
    }

    /** That of the first record with this timestamp or a larger one, in milliseconds since 1970. */
    public static OffsetSpec forTimestamp(long timestamp) {
        return new OffsetSpec("timestamp", timestamp);
    }

    Map<String, Object> document(TopicPartition partition) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("topic", partition.topic());
        document.put("partition", partition.partition());
        document.put("at", at);
        if (timestamp != null) {
            document.put("timestamp", timestamp);
        }
        return document;
    }
}
