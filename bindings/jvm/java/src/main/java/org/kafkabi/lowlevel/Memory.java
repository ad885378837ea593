package org.kafkabi.lowlevel;

import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;

/** Memory that crosses: direct buffers in the machine's byte order, aligned to 8 bytes, and their addresses. */
public final class Memory {
    private static final int ALIGNMENT = 8;

    private Memory() {}

    /** A direct buffer of zeros. Whoever passes its address on keeps it reachable until the call is back. */
    public static ByteBuffer allocate(int size) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(size + ALIGNMENT);
        return buffer.alignedSlice(ALIGNMENT).limit(size).slice().order(ByteOrder.nativeOrder());
    }

    /** The address of a direct buffer's first byte, wherever its position is. */
    public static long address(ByteBuffer buffer) {
        return Pointer.nativeValue(Native.getDirectBufferPointer(buffer));
    }

    /** The text at an address, up to its NUL; null for 0. */
    public static String text(long address) {
        return address == 0 ? null : new Pointer(address).getString(0, StandardCharsets.UTF_8.name());
    }

    /** A copy of the bytes at an address. */
    public static byte[] bytes(long address, int length) {
        return new Pointer(address).getByteArray(0, length);
    }

    /** A text as the C interface takes it: UTF-8 and a NUL, in a buffer of its own. A text with a NUL inside is refused. */
    public static ByteBuffer text(String text) {
        if (text.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("a text with a NUL character inside can't be passed on");
        }
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        ByteBuffer buffer = allocate(bytes.length + 1);
        buffer.put(0, bytes);
        return buffer;
    }
}
