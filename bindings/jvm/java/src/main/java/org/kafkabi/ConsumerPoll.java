package org.kafkabi;

import static org.kafkabi.ConsumerCore.KABI;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.kafkabi.Blocking.Deadline;
import org.kafkabi.errors.TimeoutException;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Layouts.BatchInfo;
import org.kafkabi.lowlevel.Memory;

/** Polls into a buffer that is used again and again, and makes copies or views of what is in it. */
final class ConsumerPoll {
    private static final Logger LOGGER = System.getLogger("org.kafkabi.consumer");
    private static final int FIRST_BYTES = 256 * 1024;
    private static final int MOST_BYTES = 4 * 1024 * 1024;
    private static final int MARK_EVERY = 256;

    private final ConsumerCore core;
    private final ConsumerGroup group;

    /** Held by the thread that polls. */
    private final ReentrantLock polling = new ReentrantLock();

    private ByteBuffer buffer = Memory.allocate(FIRST_BYTES);
    private long address = Memory.address(buffer);
    private final ByteBuffer info = Memory.allocate(BatchInfo.BYTES);
    private final long infoAddress = Memory.address(info);

    /** Counts the polls, so that views of earlier ones notice. */
    private volatile long turn;

    /** What was handed out last, for commits without offsets; 0 when an each() counts for itself. */
    private volatile long lastBatch;
    private volatile int lastEntries;

    /** What an each() has handled and not said yet. */
    private RecordBatch eachBatch;
    private int eachHandled;

    /** The error of a partition that came behind records, for the next poll. */
    private RuntimeException postponed;

    ConsumerPoll(ConsumerCore core, ConsumerGroup group) {
        this.core = core;
        this.group = group;
    }

    // ---- polls ----

    RecordBatch poll(Deadline deadline) {
        enter();
        try {
            throwPostponed();
            while (true) {
                int count = fill(deadline);
                if (count == 0) {
                    return RecordBatch.EMPTY;
                }
                RecordBatch batch = copy(count);
                if (!batch.isEmpty() || !batch.ends().isEmpty()) {
                    return batch;
                }
                throwPostponed();
            }
        } finally {
            polling.unlock();
        }
    }

    RecordView pollViews(Deadline deadline) {
        enter();
        try {
            throwPostponed();
            int count = fill(deadline);
            return new RecordView(this, buffer, count, turn, core.topics);
        } finally {
            polling.unlock();
        }
    }

    private void enter() {
        if (!polling.tryLock()) {
            core.checkOpen();
            throw new IllegalStateException("another thread is polling this consumer");
        }
        try {
            core.checkOpen();
            if (polling.getHoldCount() > 1) {
                throw new IllegalStateException("a poll from a rebalance listener or a function of each()");
            }
            if (!group.isReading()) {
                throw new IllegalStateException("the consumer is not subscribed to topics, nor assigned partitions");
            }
        } catch (RuntimeException wrong) {
            polling.unlock();
            throw wrong;
        }
    }

    private void throwPostponed() {
        RuntimeException failure = postponed;
        if (failure != null) {
            postponed = null;
            throw failure;
        }
    }

    /** Waits for records; their number, 0 when the time is up. */
    private int fill(Deadline deadline) {
        turn++;
        lastBatch = 0;
        if (wanted > 0) {
            grow(wanted);
        }
        try (Scratch scratch = Scratch.take()) {
            while (true) {
                core.runCommitCallbacks();
                core.checkWakeup();
                Blocking.checkInterrupt();
                int status = Blocking.call(slice -> KABI.kabi_consumer_poll_packed(core.handle, core.maxPollRecords, slice,
                        address, buffer.capacity(), infoAddress, scratch.error()), deadline.slice(Blocking.SLICE_MILLIS));
                if (status == Constants.KABI_STATUS_OK) {
                    int count = (int) info.getLong(BatchInfo.COUNT);
                    if (count > 0) {
                        lastEntries = count;
                        lastBatch = info.getLong(BatchInfo.NUMBER);
                        wanted = wanted(count);
                        return count;
                    }
                    if (!group.applyChange() && deadline.passed()) {
                        core.checkWakeup();
                        return 0;
                    }
                } else if (status == Constants.KABI_STATUS_BUFFER_TOO_SMALL) {
                    grow(Math.toIntExact(info.getLong(BatchInfo.SIZE)));
                } else if (status == Constants.KABI_STATUS_STATE) {
                    RuntimeException failure = scratch.failure(status);
                    if (!group.applyChange()) {
                        throw failure;
                    }
                } else if (status != Constants.KABI_STATUS_INTERRUPTED) {
                    scratch.check(status);
                }
            }
        } finally {
            Reference.reachabilityFence(buffer);
        }
    }

    /** How large a buffer the next poll is to have, or 0 if this one will do. */
    private int wanted;

    private void grow(int size) {
        // Views of earlier polls hold the old buffer, and are past their turn.
        buffer = Memory.allocate(size);
        address = Memory.address(buffer);
    }

    /** The next poll gets a larger buffer when this one was cut short by it; what was polled stays where it is. */
    private int wanted(int count) {
        return count < core.maxPollRecords && info.getLong(BatchInfo.SIZE) > buffer.capacity() / 2
                        && buffer.capacity() < MOST_BYTES
                ? 2 * buffer.capacity() : 0;
    }

    /** Throws if the poll that a view came from is not the latest any more. */
    void checkTurn(long viewTurn) {
        if (viewTurn != turn) {
            throw new IllegalStateException("the view's batch is recycled: a later poll has begun");
        }
    }

    // ---- copies ----

    private RecordBatch copy(int count) {
        Record[] records = new Record[count];
        int[] places = null;
        int found = 0;
        List<TopicPartition> ends = List.of();
        int at = 0;
        for (int i = 0; i < count; i++) {
            if (PackedReader.code(buffer, at) == Constants.KABI_STATUS_OK) {
                if (places != null) {
                    places[found] = i;
                }
                records[found++] = PackedReader.record(buffer, at, core.topics);
            } else {
                if (places == null) {
                    places = new int[count];
                    for (int place = 0; place < found; place++) {
                        places[place] = place;
                    }
                }
                ends = note(at, ends);
            }
            at += PackedReader.size(buffer, at);
        }
        return new RecordBatch(lastBatch, RecordBatch.list(records, found), ends, places, count);
    }

    /** An entry that is no record: the end of a partition, or an error of one. */
    private List<TopicPartition> note(int at, List<TopicPartition> ends) {
        Record entry = PackedReader.record(buffer, at, core.topics);
        int code = PackedReader.code(buffer, at);
        if (code == Constants.KABI_STATUS_PARTITION_EOF) {
            List<TopicPartition> more = new ArrayList<>(ends);
            more.add(entry.topicPartition());
            return more;
        }
        noteError(code, PackedReader.valueText(buffer, at), entry.topic());
        return ends;
    }

    void noteError(int code, String text, String topic) {
        switch (code) {
            // Apache's client waits for such topics, and joins its group anew, without a word to the program.
            case Constants.KABI_STATUS_UNKNOWN_TOPIC_OR_PART, Constants.KABI_STATUS_UNKNOWN_TOPIC,
                    Constants.KABI_STATUS_MAX_POLL_EXCEEDED ->
                LOGGER.log(Level.WARNING, topic + ": " + text);
            default -> {
                if (postponed == null) {
                    postponed = Failures.failure(code, 0, text);
                }
            }
        }
    }

    // ---- one by one ----

    long each(Duration idle, Predicate<? super Record> function) {
        long handled = 0;
        while (true) {
            RecordBatch batch = poll(Deadline.in(idle));
            if (batch.isEmpty() && batch.ends().isEmpty()) {
                return handled;
            }
            boolean goOn = eachOf(batch, function);
            handled += eachHandled;
            if (!goOn) {
                return handled;
            }
        }
    }

    private boolean eachOf(RecordBatch batch, Predicate<? super Record> function) {
        lastBatch = 0;
        eachBatch = batch;
        eachHandled = 0;
        List<Record> records = batch.records();
        boolean all = false;
        try {
            for (Record record : records) {
                boolean goOn = function.test(record);
                eachHandled++;
                if (!goOn) {
                    all = eachHandled == records.size();
                    return false;
                }
                if (eachHandled % MARK_EVERY == 0) {
                    handOutHandled();
                }
            }
            all = true;
            return true;
        } finally {
            handOutHandled();
            eachBatch = null;
            if (!all && !core.isClosed()) {
                putBack(records.subList(eachHandled, records.size()));
            }
        }
    }

    /** Records that were polled and not handed out are read again. */
    private void putBack(List<Record> records) {
        Map<TopicPartition, Long> first = new LinkedHashMap<>();
        for (Record record : records) {
            first.putIfAbsent(record.topicPartition(), record.offset());
        }
        first.keySet().retainAll(group.assignment());
        new ConsumerOffsets(core).seek(first);
    }

    /** Says what was handled in an each(), or what the last poll handed out, for a commit without offsets. */
    void handOutHandled() {
        RecordBatch batch = eachBatch;
        if (batch != null) {
            core.handled(batch.number, batch.entries(eachHandled));
        } else if (core.handledByPoll) {
            core.handled(lastBatch, lastEntries);
        }
    }

    // ---- ends ----

    void unsubscribe() {
        core.checkOpen();
        if (!group.isSubscribed() || !polling.tryLock()) {
            group.unsubscribe();
            return; // Nothing is revoked, or the poll that goes on meets the revocation.
        }
        try {
            // So that the poll which meets the revocation hands out no record that nobody would see.
            group.pause(group.assignment());
            group.unsubscribe();
            meetRevocation();
        } finally {
            polling.unlock();
        }
    }

    /** The revocation comes in a poll for records. */
    private void meetRevocation() {
        Deadline deadline = Deadline.in(1000);
        try (Scratch scratch = Scratch.take()) {
            while (!group.assignment().isEmpty() && !deadline.passed()) {
                turn++;
                KABI.kabi_consumer_poll_packed(core.handle, 1, 10, address, buffer.capacity(), infoAddress, scratch.error());
                group.applyChange();
            }
        }
    }

    void close(Deadline deadline) {
        if (!core.markClosing()) {
            return;
        }
        Throwable thrown = group.tellRevokedAtClose();
        core.markClosed();
        turn++;
        Scratch scratch = Scratch.take();
        int status = Blocking.handOver(deadline, scratch, timeout ->
                KABI.kabi_consumer_close(core.handle, timeout, scratch.error()));
        core.runCommitCallbacks();
        if (status == Constants.KABI_STATUS_TIMED_OUT) {
            throw new TimeoutException(scratch.message(), status, scratch.flags(), null);
        }
        scratch.check(status);
        scratch.close();
        ConsumerGroup.rethrow(thrown);
    }
}
