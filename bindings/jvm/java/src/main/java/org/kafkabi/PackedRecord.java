package org.kafkabi;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.kafkabi.lowlevel.Layouts.Packed;

/** A record about to be written in the packed format: its parts, measured and checked. */
final class PackedRecord {
    private static final boolean LITTLE = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;
    private static final int PARTS = Packed.BYTES;
    private static final int HEADER_OVERHEAD = 9;
    private static final byte[][] NO_NAMES = {};

    private final int partition;
    private final byte[] key;
    private final byte[] value;
    private final List<Header> headers;
    private final byte[][] names;
    private final long timestamp;
    private final int size;

    PackedRecord(int partition, byte[] key, byte[] value, List<Header> headers, long timestamp) {
        this.partition = partition;
        this.key = key;
        this.value = value;
        this.headers = headers;
        this.timestamp = timestamp;
        this.names = headers.isEmpty() ? NO_NAMES : names(headers);
        long bytes = (long) PARTS + length(key) + length(value);
        for (int i = 0; i < names.length; i++) {
            bytes += HEADER_OVERHEAD + (long) names[i].length + length(headers.get(i).value());
        }
        bytes = (bytes + 7) & ~7L;
        if (bytes > Integer.MAX_VALUE / 2) {
            throw new IllegalArgumentException("a record of " + bytes + " bytes is too large");
        }
        this.size = (int) bytes;
    }

    private static byte[][] names(List<Header> headers) {
        byte[][] names = new byte[headers.size()][];
        for (int i = 0; i < names.length; i++) {
            String name = headers.get(i).name();
            if (name.indexOf('\0') >= 0) {
                throw new IllegalArgumentException("the name of header " + i + " has a NUL character inside");
            }
            names[i] = name.getBytes(StandardCharsets.UTF_8);
        }
        return names;
    }

    private static int length(byte[] bytes) {
        return bytes == null ? 0 : bytes.length;
    }

    /** The packed size, a multiple of 8. */
    int size() {
        return size;
    }

    void write(ByteBuffer buffer, int at, int topic, int token) {
        // The padding, which the parts then overwrite up to where they end.
        buffer.putLong(at + size - 8, 0);
        buffer.putLong(at + Packed.SIZE, pair(size, LITTLE ? Packed.BYTES : Packed.BYTES << 16));
        buffer.putLong(at + Packed.TOPIC, pair(topic, partition));
        buffer.putLong(at + Packed.OFFSET, 0);
        buffer.putLong(at + Packed.TIMESTAMP, timestamp);
        buffer.putLong(at + Packed.TOKEN, token);
        buffer.putLong(at + Packed.KEY_LENGTH, pair(key == null ? -1 : key.length, value == null ? -1 : value.length));
        buffer.putLong(at + Packed.HEADER_COUNT, pair(names.length, -1));
        buffer.putLong(at + Packed.CODE, 0);
        int end = at + PARTS;
        if (key != null) {
            buffer.put(end, key);
            end += key.length;
        }
        if (value != null) {
            buffer.put(end, value);
            end += value.length;
        }
        for (int i = 0; i < names.length; i++) {
            end = writeHeader(buffer, end, names[i], headers.get(i).value());
        }
    }

    private static int writeHeader(ByteBuffer buffer, int at, byte[] name, byte[] value) {
        buffer.putInt(at, name.length);
        buffer.putInt(at + 4, value == null ? -1 : value.length);
        buffer.put(at + 8, name);
        int end = at + 8 + name.length;
        buffer.put(end++, (byte) 0);
        if (value != null) {
            buffer.put(end, value);
            end += value.length;
        }
        return end;
    }

    /** Two neighbouring fields of 32 bits in one write. */
    private static long pair(int first, int second) {
        return LITTLE
                ? (first & 0xffff_ffffL) | ((long) second << 32)
                : ((long) first << 32) | (second & 0xffff_ffffL);
    }
}
