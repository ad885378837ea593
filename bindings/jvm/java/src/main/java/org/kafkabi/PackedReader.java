package org.kafkabi;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.kafkabi.lowlevel.Layouts.Packed;

/** Reads packed records out of a buffer. */
final class PackedReader {
    private PackedReader() {}

    static int size(ByteBuffer buffer, int at) {
        return buffer.getInt(at + Packed.SIZE);
    }

    static int code(ByteBuffer buffer, int at) {
        return buffer.getInt(at + Packed.CODE);
    }

    static Record record(ByteBuffer buffer, int at, TopicNumbers topics) {
        return record(buffer, at, topics.name(buffer.getInt(at + Packed.TOPIC)));
    }

    static Record record(ByteBuffer buffer, int at, String topic) {
        int headerCount = buffer.getInt(at + Packed.HEADER_COUNT);
        return new Record(
                topic,
                buffer.getInt(at + Packed.PARTITION),
                key(buffer, at),
                value(buffer, at),
                headerCount == 0 ? List.of() : headers(buffer, at, headerCount),
                buffer.getLong(at + Packed.TIMESTAMP),
                TimestampType.of(buffer.getInt(at + Packed.TIMESTAMP_TYPE)),
                buffer.getLong(at + Packed.OFFSET),
                buffer.getInt(at + Packed.LEADER_EPOCH));
    }

    static int keyAt(int at) {
        return at + Packed.BYTES;
    }

    static int valueAt(ByteBuffer buffer, int at) {
        return at + Packed.BYTES + Math.max(0, buffer.getInt(at + Packed.KEY_LENGTH));
    }

    static byte[] key(ByteBuffer buffer, int at) {
        return bytes(buffer, keyAt(at), buffer.getInt(at + Packed.KEY_LENGTH));
    }

    static byte[] value(ByteBuffer buffer, int at) {
        return bytes(buffer, valueAt(buffer, at), buffer.getInt(at + Packed.VALUE_LENGTH));
    }

    static String valueText(ByteBuffer buffer, int at) {
        byte[] value = value(buffer, at);
        return value == null ? "" : new String(value, StandardCharsets.UTF_8);
    }

    static List<Header> headers(ByteBuffer buffer, int at, int count) {
        List<Header> headers = new ArrayList<>(count);
        int next = valueAt(buffer, at) + Math.max(0, buffer.getInt(at + Packed.VALUE_LENGTH));
        for (int i = 0; i < count; i++) {
            int nameLength = buffer.getInt(next);
            int valueLength = buffer.getInt(next + 4);
            String name = new String(bytes(buffer, next + 8, nameLength), StandardCharsets.UTF_8);
            int valueAt = next + 8 + nameLength + 1;
            headers.add(new Header(name, bytes(buffer, valueAt, valueLength)));
            next = valueAt + Math.max(0, valueLength);
        }
        return Collections.unmodifiableList(headers);
    }

    private static byte[] bytes(ByteBuffer buffer, int at, int length) {
        if (length < 0) {
            return null;
        }
        byte[] bytes = new byte[length];
        buffer.get(at, bytes);
        return bytes;
    }
}
