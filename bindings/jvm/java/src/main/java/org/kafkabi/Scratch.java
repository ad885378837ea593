package org.kafkabi;

import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Layouts;
import org.kafkabi.lowlevel.Memory;

/**
 * Memory for the error and the outputs of one call, from a pool. Closing gives it back, which also keeps it reachable
 * until then.
 */
final class Scratch implements AutoCloseable {
    private static final int OUTPUTS = 64;
    private static final ConcurrentLinkedQueue<Scratch> POOL = new ConcurrentLinkedQueue<>();

    private final ByteBuffer memory = Memory.allocate(Layouts.Error.BYTES + OUTPUTS);
    private final long address = Memory.address(memory);

    private Scratch() {
        memory.putInt(Layouts.Error.SIZE, Layouts.Error.BYTES);
    }

    static Scratch take() {
        Scratch scratch = POOL.poll();
        if (scratch == null) {
            return new Scratch();
        }
        // A call that fails may leave its outputs alone: they must not be an earlier call's.
        for (int i = 0; i < OUTPUTS / 8; i++) {
            scratch.clear(i);
        }
        return scratch;
    }

    @Override
    public void close() {
        POOL.offer(this);
    }

    /** The address of the error record. */
    long error() {
        return address;
    }

    /** The address of an output of 8 bytes, by its number from 0 to 7. */
    long out(int index) {
        return address + Layouts.Error.BYTES + 8L * index;
    }

    long longOut(int index) {
        return memory.getLong(Layouts.Error.BYTES + 8 * index);
    }

    int intOut(int index) {
        return memory.getInt(Layouts.Error.BYTES + 8 * index);
    }

    void clear(int index) {
        memory.putLong(Layouts.Error.BYTES + 8 * index, 0);
    }

    int flags() {
        return memory.getInt(Layouts.Error.FLAGS);
    }

    /** The error's message, after a call that failed. */
    String message() {
        return Memory.text(address + Layouts.Error.MESSAGE);
    }

    /** Throws what a status other than 0 stands for. Only right after the call that gave it. */
    void check(int status) {
        if (status != Constants.KABI_STATUS_OK) {
            throw failure(status);
        }
    }

    RuntimeException failure(int status) {
        return Failures.of(status, flags(), message());
    }
}
