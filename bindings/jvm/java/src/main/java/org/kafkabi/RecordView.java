package org.kafkabi;

import java.nio.ByteBuffer;
import java.util.List;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Layouts.Packed;

/**
 * A cursor over the records of one poll, which reads them where they lie:
 *
 * <pre>{@code
 * RecordView view = consumer.pollViews(timeout);
 * while (view.next()) {
 *     sum += view.valueLength();
 * }
 * }</pre>
 *
 * <p>Nothing is allocated for a record, but by the methods that say so. Once the consumer polls again, every method
 * throws {@link IllegalStateException}. For one thread.
 */
public final class RecordView {
    private final ConsumerPoll owner;
    private final ByteBuffer buffer;
    private final int count;
    private final long turn;
    private final TopicNumbers topics;
    private int index = -1;
    private int at;
    private int nextAt;

    RecordView(ConsumerPoll owner, ByteBuffer buffer, int count, long turn, TopicNumbers topics) {
        this.owner = owner;
        this.buffer = buffer;
        this.count = count;
        this.turn = turn;
        this.topics = topics;
    }

    /** Moves to the next record, at first to the first one; false when there are no more. */
    public boolean next() {
        owner.checkTurn(turn);
        while (++index < count) {
            at = nextAt;
            nextAt = at + PackedReader.size(buffer, at);
            int code = PackedReader.code(buffer, at);
            if (code == Constants.KABI_STATUS_OK) {
                return true;
            }
            if (code != Constants.KABI_STATUS_PARTITION_EOF) {
                owner.noteError(code, PackedReader.valueText(buffer, at), topics.name(buffer.getInt(at + Packed.TOPIC)));
            }
        }
        index = count;
        return false;
    }

    /** How many records and other entries the poll gave. */
    public int count() {
        return count;
    }

    private int at() {
        owner.checkTurn(turn);
        if (index < 0 || index >= count) {
            throw new IllegalStateException("the view is not at a record: call next() first");
        }
        return at;
    }

    /** The topic. */
    public String topic() {
        return topics.name(buffer.getInt(at() + Packed.TOPIC));
    }

    /** The partition. */
    public int partition() {
        return buffer.getInt(at() + Packed.PARTITION);
    }

    /** The offset. */
    public long offset() {
        return buffer.getLong(at() + Packed.OFFSET);
    }

    /** Milliseconds since 1970, or -1. */
    public long timestamp() {
        return buffer.getLong(at() + Packed.TIMESTAMP);
    }

    /** Who set the timestamp. */
    public TimestampType timestampType() {
        return TimestampType.of(buffer.getInt(at() + Packed.TIMESTAMP_TYPE));
    }

    /** The epoch of the partition's leader when the record was written, or -1. */
    public int leaderEpoch() {
        return buffer.getInt(at() + Packed.LEADER_EPOCH);
    }

    /** The key's length in bytes, -1 for a null key. */
    public int keyLength() {
        return buffer.getInt(at() + Packed.KEY_LENGTH);
    }

    /** The value's length in bytes, -1 for a null value. */
    public int valueLength() {
        return buffer.getInt(at() + Packed.VALUE_LENGTH);
    }

    /** A byte of the key. */
    public byte keyByte(int position) {
        return buffer.get(PackedReader.keyAt(at()) + checked(position, 1, keyLength()));
    }

    /** A byte of the value. */
    public byte valueByte(int position) {
        return buffer.get(PackedReader.valueAt(buffer, at()) + checked(position, 1, valueLength()));
    }

    /** Copies the key to an array from an index on, and gives its length; -1 for a null key, of which nothing is copied. */
    public int key(byte[] into, int from) {
        int length = keyLength();
        if (length > 0) {
            buffer.get(PackedReader.keyAt(at), into, from, length);
        }
        return length;
    }

    /** Copies the value to an array from an index on, and gives its length; -1 for a null value, of which nothing is copied. */
    public int value(byte[] into, int from) {
        int length = valueLength();
        if (length > 0) {
            buffer.get(PackedReader.valueAt(buffer, at), into, from, length);
        }
        return length;
    }

    /** A copy of the key, or null. */
    public byte[] key() {
        return PackedReader.key(buffer, at());
    }

    /** A copy of the value, or null. */
    public byte[] value() {
        return PackedReader.value(buffer, at());
    }

    /** How many headers the record has. */
    public int headerCount() {
        return buffer.getInt(at() + Packed.HEADER_COUNT);
    }

    /** Copies of the headers. */
    public List<Header> headers() {
        return PackedReader.headers(buffer, at(), headerCount());
    }

    /** A copy of the record, which stays valid. */
    public Record copy() {
        return PackedReader.record(buffer, at(), topics);
    }

    private static int checked(int position, int width, int length) {
        if (position < 0 || position > length - width) {
            throw new IndexOutOfBoundsException("byte " + position + " of " + length);
        }
        return position;
    }
}
