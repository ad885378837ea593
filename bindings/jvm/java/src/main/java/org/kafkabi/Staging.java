package org.kafkabi;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.kafkabi.lowlevel.Memory;

/**
 * Where sent records wait for the next crossing into the native client, packed in a direct buffer, and what is known of
 * each until its report has come.
 *
 * <p>Two buffers take turns: threads that send fill one, while the sender takes the other across. All state is guarded
 * by one lock, so records cross in the order in which their sends got it. A record holds a slot from its send to its
 * completion; the slot's number is its token.
 */
final class Staging {
    /** A buffer of packed records. */
    static final class Stage {
        ByteBuffer buffer;
        long address;
        int bytes;
        int count;

        Stage(int capacity) {
            resize(capacity);
        }

        void resize(int capacity) {
            buffer = Memory.allocate(capacity);
            address = Memory.address(buffer);
        }
    }

    /** The records sent between two flushes; a flush waits until those before it are complete. */
    static final class Epoch {
        private int outstanding;
    }

    /** A record that failed before the native client took it. */
    record Failure(int slot, int partition, KafkaException exception) {}

    /** A record that nothing will be told of any more: what was given with it, its topic's number, and its epoch. */
    record Left(Object pending, int topic, Epoch epoch) {}

    static final int CAPACITY = 1 << 20;
    private static final int URGENT_BYTES = CAPACITY / 8;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition work = lock.newCondition();
    private final Condition space = lock.newCondition();
    private final Condition settled = lock.newCondition();
    private final Condition completed = lock.newCondition();
    private final long gatherNanos;

    private Stage filling = new Stage(CAPACITY);
    private Stage spare = new Stage(CAPACITY);
    private boolean closed;
    private boolean discarding;

    /** A thread of the producer has ended by a fault, or all have ended: nothing can be sent any more. */
    private boolean broken;
    private int hurried;

    /** Records staged, and records that the native client has taken or that have failed, since the beginning. */
    private long stagedRecords;
    private long settledRecords;

    private Object[] pendings = new Object[1024];
    private int[] topics = new int[1024];
    private Epoch[] epochs = new Epoch[1024];
    private int[] free = new int[1024];
    private int freeCount;
    private int slotCount;
    private Epoch epoch = new Epoch();
    private final ArrayDeque<Epoch> open = new ArrayDeque<>();
    private List<Failure> failures = new ArrayList<>();

    /** The first of the failures since it was last taken: a transaction can't be committed without that record. */
    private KafkaException firstFailure;

    Staging(long gatherNanos) {
        this.gatherNanos = gatherNanos;
        open.add(epoch);
    }

    // ---- threads that send ----

    /** A record is about to be staged by a thread that may not: a transaction is missing, for example. */
    @FunctionalInterface
    interface Gate {
        /** Throws if no record may be sent now. */
        void check();
    }

    /**
     * Stages a record; waits for space up to `blockNanos`, for ever long with Long.MAX_VALUE, and not at all with 0, in
     * which case there is always space. False if there was none.
     */
    boolean append(PackedRecord record, int topic, Object pending, long blockNanos, Gate gate) throws InterruptedException {
        int size = record.size();
        lock.lock();
        try {
            check(gate);
            long left = blockNanos;
            while (!hasSpace(size) && blockNanos > 0) {
                if (left <= 0) {
                    return false;
                }
                left = space.awaitNanos(left);
                check(gate);
            }
            makeSpace(size);
            int slot = takeSlot(topic, pending);
            record.write(filling.buffer, filling.bytes, topic, slot);
            boolean wasUrgent = filling.bytes >= URGENT_BYTES;
            filling.bytes += size;
            filling.count++;
            stagedRecords++;
            if (filling.count == 1 || (!wasUrgent && filling.bytes >= URGENT_BYTES)) {
                work.signal();
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    private void check(Gate gate) {
        gate.check();
        if (broken) {
            throw new IllegalStateException(
                    "the producer can't send any more: one of its threads has ended by a fault, which was logged; make a new one");
        }
    }

    private boolean hasSpace(int size) {
        return filling.count == 0 || size <= filling.buffer.capacity() - filling.bytes;
    }

    /** A record that is larger than a buffer, or that may not wait, gets a buffer as large as it needs. */
    private void makeSpace(int size) {
        int needed = Math.addExact(filling.bytes, size);
        if (needed > filling.buffer.capacity()) {
            ByteBuffer old = filling.buffer;
            filling.resize(filling.count == 0 ? needed : Math.max(needed, 2 * old.capacity()));
            filling.buffer.put(0, old, 0, filling.bytes);
        }
    }

    private int takeSlot(int topic, Object pending) {
        int slot = freeCount > 0 ? free[--freeCount] : slotCount++;
        if (slot == pendings.length) {
            int length = 2 * slot;
            pendings = Arrays.copyOf(pendings, length);
            topics = Arrays.copyOf(topics, length);
            epochs = Arrays.copyOf(epochs, length);
            free = Arrays.copyOf(free, length);
        }
        pendings[slot] = pending;
        topics[slot] = topic;
        epochs[slot] = epoch;
        epoch.outstanding++;
        return slot;
    }

    // ---- the sender ----

    /** Waits for staged records and takes them; null once it is closed and all is taken, or broken. */
    Stage take() throws InterruptedException {
        lock.lock();
        try {
            while (filling.count == 0 && !broken) {
                if (closed) {
                    return null;
                }
                work.await();
            }
            long left = gatherNanos;
            while (left > 0 && filling.bytes < URGENT_BYTES && hurried == 0 && !closed && !broken) {
                left = work.awaitNanos(left);
            }
            if (broken) {
                return null;
            }
            Stage taken = filling;
            filling = spare;
            spare = null;
            space.signalAll();
            return taken;
        } finally {
            lock.unlock();
        }
    }

    /** Gives a buffer back whose records are all accepted or have failed. */
    void give(Stage stage) {
        lock.lock();
        try {
            settledRecords = Math.min(stagedRecords, settledRecords + stage.count);
            stage.bytes = 0;
            stage.count = 0;
            if (stage.buffer.capacity() > CAPACITY) {
                shrink(stage);
            }
            spare = stage;
            settled.signalAll();
        } finally {
            lock.unlock();
        }
    }

    private static void shrink(Stage stage) {
        try {
            stage.resize(CAPACITY);
        } catch (OutOfMemoryError none) {
            // There is no room for the smaller one while the larger is there; that one will do.
        }
    }

    // ---- the end of a thread ----

    /** Nothing can be sent any more, and no transaction with what was sent be committed. */
    void breakDown(KafkaException why) {
        lock.lock();
        try {
            broken = true;
            if (firstFailure == null) {
                firstFailure = why;
            }
            settledRecords = stagedRecords;
            work.signalAll();
            space.signalAll();
            settled.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** After the last report: the records that had none. */
    List<Left> takeLeft() {
        lock.lock();
        try {
            List<Left> left = new ArrayList<>();
            for (int slot = 0; slot < slotCount; slot++) {
                if (epochs[slot] != null) {
                    left.add(new Left(pendings[slot], topics[slot], epochs[slot]));
                    pendings[slot] = null;
                    epochs[slot] = null;
                    free[freeCount++] = slot;
                }
            }
            failures.clear();
            return left;
        } finally {
            lock.unlock();
        }
    }

    /** Whether records that are not accepted yet are to be given up. */
    boolean isDiscarding() {
        lock.lock();
        try {
            return discarding;
        } finally {
            lock.unlock();
        }
    }

    /** Notes records that failed here, for the delivery thread. */
    void fail(List<Failure> failed) {
        lock.lock();
        try {
            failures.addAll(failed);
            if (firstFailure == null) {
                firstFailure = failed.get(0).exception();
            }
        } finally {
            lock.unlock();
        }
    }

    // ---- the delivery thread ----

    List<Failure> takeFailures() {
        lock.lock();
        try {
            if (failures.isEmpty()) {
                return List.of();
            }
            List<Failure> taken = failures;
            failures = new ArrayList<>();
            return taken;
        } finally {
            lock.unlock();
        }
    }

    /** What was given with the record, its topic's number, and its epoch. */
    void look(int[] slots, int count, Object[] pendingOf, int[] topicOf, Epoch[] epochOf) {
        lock.lock();
        try {
            for (int i = 0; i < count; i++) {
                int slot = slots[i];
                pendingOf[i] = pendings[slot];
                topicOf[i] = topics[slot];
                epochOf[i] = epochs[slot];
                pendings[slot] = null;
                epochs[slot] = null;
                free[freeCount++] = slot;
            }
        } finally {
            lock.unlock();
        }
    }

    /** The records of these epochs are complete: their futures and callbacks have been told. */
    void complete(Epoch[] epochOf, int count) {
        lock.lock();
        try {
            for (int i = 0; i < count; i++) {
                epochOf[i].outstanding--;
                epochOf[i] = null;
            }
            retireEpochs();
        } finally {
            lock.unlock();
        }
    }

    private void retireEpochs() {
        boolean retired = false;
        while (open.size() > 1 && open.peekFirst().outstanding == 0) {
            open.removeFirst();
            retired = true;
        }
        if (retired) {
            completed.signalAll();
        }
    }

    // ---- flush, transactions, close ----

    /** Begins a new epoch and gives the one that ends, to wait for. */
    Epoch endEpoch() {
        lock.lock();
        try {
            Epoch ended = epoch;
            epoch = new Epoch();
            open.addLast(epoch);
            retireEpochs();
            return ended;
        } finally {
            lock.unlock();
        }
    }

    /** Waits until all records of the epoch and of those before it are complete; false if the time is up. */
    boolean awaitComplete(Epoch ended, long nanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long left = nanos;
            while (open.contains(ended)) {
                if (left <= 0) {
                    return false;
                }
                left = completed.awaitNanos(left);
            }
            return true;
        } finally {
            lock.unlock();
        }
    }

    /** The first record that failed here since the last call of {@link #forgetFailure}, or null. */
    KafkaException firstFailure() {
        lock.lock();
        try {
            return firstFailure;
        } finally {
            lock.unlock();
        }
    }

    void forgetFailure() {
        lock.lock();
        try {
            firstFailure = null;
        } finally {
            lock.unlock();
        }
    }

    /** Waits until what is staged now was accepted or has failed; hurries it. False if the time is up. */
    boolean awaitSettled(long nanos) throws InterruptedException {
        lock.lockInterruptibly();
        try {
            long target = stagedRecords;
            hurried++;
            try {
                work.signal();
                long left = nanos;
                while (settledRecords < target) {
                    if (left <= 0) {
                        return false;
                    }
                    left = settled.awaitNanos(left);
                }
                return true;
            } finally {
                hurried--;
            }
        } finally {
            lock.unlock();
        }
    }

    /** Gives up what is not accepted yet, if `on`; else lets it pass again. */
    void discard(boolean on) {
        lock.lock();
        try {
            discarding = on;
            work.signal();
        } finally {
            lock.unlock();
        }
    }

    /** Lets the sender end when all is taken. Sends are kept out by their gate. */
    void close() {
        lock.lock();
        try {
            closed = true;
            work.signalAll();
            space.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Wakes the threads that wait for space, to look at their gate. */
    void wakeSenders() {
        lock.lock();
        try {
            space.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** How many records are staged or have no outcome yet. */
    int outstanding() {
        lock.lock();
        try {
            return slotCount - freeCount;
        } finally {
            lock.unlock();
        }
    }
}
