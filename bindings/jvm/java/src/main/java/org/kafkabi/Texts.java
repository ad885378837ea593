package org.kafkabi;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Memory;

/** Reads texts and bytes that a function writes into a buffer whose size is not known before. */
final class Texts {
    private static final int FIRST = 512;

    private Texts() {}

    /** A function that writes to a buffer: addresses of the buffer, its size, the length's output and the error. */
    @FunctionalInterface
    interface Writer {
        int write(long buffer, long size, long length, long error);
    }

    static String read(Writer writer) {
        byte[] bytes = bytes(writer, false);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** As {@link #read}, with null where the function says that there is nothing. */
    static String readOrNull(Writer writer) {
        byte[] bytes = bytes(writer, true);
        return bytes == null ? null : new String(bytes, StandardCharsets.UTF_8);
    }

    static byte[] bytes(Writer writer, boolean orNull) {
        int size = FIRST;
        try (Scratch scratch = Scratch.take()) {
            while (true) {
                ByteBuffer buffer = Memory.allocate(size);
                int status = writer.write(Memory.address(buffer), size, scratch.out(0), scratch.error());
                int length = Math.toIntExact(scratch.longOut(0));
                if (status == Constants.KABI_STATUS_NOENT && orNull) {
                    return null;
                }
                if (status != Constants.KABI_STATUS_BUFFER_TOO_SMALL) {
                    scratch.check(status);
                    byte[] bytes = new byte[length];
                    buffer.get(0, bytes);
                    Reference.reachabilityFence(buffer);
                    return bytes;
                }
                // What is written may have grown by the next call.
                size = Math.max(2 * size, length + FIRST);
            }
        }
    }
}
