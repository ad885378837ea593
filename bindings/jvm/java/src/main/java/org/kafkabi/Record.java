package org.kafkabi;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/**
 * A record: one to be sent, or one that was received. Immutable but for the bytes, which are not copied.
 *
 * <p>A received record can be sent on as it is: it goes to its own topic, by {@link #withTopic} to another one; its
 * partition is chosen anew unless {@link #withPartition} says otherwise. Received records are copies and stay valid.
 */
public final class Record {
    /** No partition: the partitioner chooses one. */
    public static final int ANY_PARTITION = -1;

    private static final List<Header> NO_HEADERS = List.of();

    private final String topic;
    private final int partition;
    private final byte[] key;
    private final byte[] value;
    private final List<Header> headers;
    private final long timestamp;
    private final TimestampType timestampType;
    private final long offset;
    private final int leaderEpoch;

    Record(
            String topic,
            int partition,
            byte[] key,
            byte[] value,
            List<Header> headers,
            long timestamp,
            TimestampType timestampType,
            long offset,
            int leaderEpoch) {
        this.topic = topic;
        this.partition = partition;
        this.key = key;
        this.value = value;
        this.headers = headers;
        this.timestamp = timestamp;
        this.timestampType = timestampType;
        this.offset = offset;
        this.leaderEpoch = leaderEpoch;
    }

    /** A record to send. Key and value may be null. */
    public static Record of(String topic, byte[] key, byte[] value) {
        Objects.requireNonNull(topic, "the topic of a record is null");
        return new Record(topic, ANY_PARTITION, key, value, NO_HEADERS, -1, TimestampType.NONE, -1, -1);
    }

    /** A record to send, without a key. The value may be null. */
    public static Record of(String topic, byte[] value) {
        return of(topic, null, value);
    }

    /** A record of texts, which are sent in UTF-8. Key and value may be null. */
    public static Record of(String topic, String key, String value) {
        return of(topic, bytes(key), bytes(value));
    }

    /** A record of a text, which is sent in UTF-8, without a key. */
    public static Record of(String topic, String value) {
        return of(topic, null, bytes(value));
    }

    private static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    /** The same record for another topic, any partition of it. */
    public Record withTopic(String topic) {
        Objects.requireNonNull(topic, "the topic of a record is null");
        return new Record(topic, ANY_PARTITION, key, value, headers, timestamp, timestampType, -1, -1);
    }

    /** The same record for this partition, or for {@link #ANY_PARTITION}. */
    public Record withPartition(int partition) {
        if (partition < ANY_PARTITION) {
            throw new IllegalArgumentException("partition " + partition + " of topic " + topic + ": partitions count from 0");
        }
        return new Record(topic, partition, key, value, headers, timestamp, timestampType, -1, -1);
    }

    /** The same record with this timestamp, in milliseconds since 1970; -1 and 0 stand for the time of sending. */
    public Record withTimestamp(long timestamp) {
        if (timestamp < -1) {
            throw new IllegalArgumentException("timestamp " + timestamp + ": timestamps are milliseconds since 1970");
        }
        return new Record(topic, partition, key, value, headers, timestamp, TimestampType.CREATE_TIME, offset, leaderEpoch);
    }

    /** The same record with these headers in place of its own. */
    public Record withHeaders(List<Header> headers) {
        return new Record(
                topic, partition, key, value, List.copyOf(headers), timestamp, timestampType, offset, leaderEpoch);
    }

    /** The same record with these headers in place of its own. */
    public Record withHeaders(Header... headers) {
        return withHeaders(List.of(headers));
    }

    /** The topic. */
    public String topic() {
        return topic;
    }

    /** The partition, or {@link #ANY_PARTITION}. */
    public int partition() {
        return partition;
    }

    /** The key, or null. */
    public byte[] key() {
        return key;
    }

    /** The value, or null. */
    public byte[] value() {
        return value;
    }

    /** The key read as UTF-8, or null. */
    public String keyText() {
        return key == null ? null : new String(key, StandardCharsets.UTF_8);
    }

    /** The value read as UTF-8, or null. */
    public String valueText() {
        return value == null ? null : new String(value, StandardCharsets.UTF_8);
    }

    /** The headers in their order; unmodifiable. */
    public List<Header> headers() {
        return headers;
    }

    /** The last header of this name, or null. */
    public Header header(String name) {
        for (int i = headers.size() - 1; i >= 0; i--) {
            if (headers.get(i).name().equals(name)) {
                return headers.get(i);
            }
        }
        return null;
    }

    /** Milliseconds since 1970, or -1 if there is none. */
    public long timestamp() {
        return timestamp;
    }

    /** Who set the timestamp. */
    public TimestampType timestampType() {
        return timestampType;
    }

    /** The offset in its partition; -1 for a record that was not received. */
    public long offset() {
        return offset;
    }

    /** The epoch of the partition's leader when the record was written, or -1. */
    public int leaderEpoch() {
        return leaderEpoch;
    }

    /** Whether it was received. */
    public boolean received() {
        return offset >= 0;
    }

    /** The topic and partition of a received record. */
    public TopicPartition topicPartition() {
        return new TopicPartition(topic, partition);
    }

    @Override
    public String toString() {
        return "Record[" + topic + "-" + partition + (received() ? " offset " + offset : "") + ", key "
                + length(key) + ", value " + length(value) + "]";
    }

    private static String length(byte[] bytes) {
        return bytes == null ? "null" : bytes.length + " bytes";
    }
}
