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
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Predicate;
import org.kafkabi.Blocking.Deadline;
import org.kafkabi.errors.InterruptException;
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
    private static final int EVENTS_MILLIS = 5000;

    private final ConsumerCore core;
    private final ConsumerGroup group;
    private final ConsumerOffsets offsets;

    /** Held by the thread that polls. */
    private final ReentrantLock polling = new ReentrantLock();

    private ByteBuffer buffer = Memory.allocate(FIRST_BYTES);
    private long address = Memory.address(buffer);
    private final ByteBuffer info = Memory.allocate(BatchInfo.BYTES);
    private final long infoAddress = Memory.address(info);

    /** Counts the polls, so that views of earlier ones notice. */
    private volatile long turn;

    /** What the next poll and commits without offsets count as handled, in one piece: commits come from other threads too. */
    private volatile Mark mark = Mark.NONE;

    /** The thread that closes, and whether it is back. */
    private volatile Thread closer;
    private final CountDownLatch ended = new CountDownLatch(1);

    /** The error of a partition that came behind records, for the next poll. */
    private RuntimeException postponed;

    ConsumerPoll(ConsumerCore core, ConsumerGroup group, ConsumerOffsets offsets) {
        this.core = core;
        this.group = group;
        this.offsets = offsets;
    }

    /**
     * The first entries of a native batch, which the native client was not told to be handled.
     *
     * @param isHandled whether they are, as each() says; or only handed out, which the next poll or a commit makes handled
     */
    private record Mark(long batch, int entries, boolean isHandled) {
        static final Mark NONE = new Mark(0, 0, true);
    }

    // ---- polls ----

    RecordBatch poll(Deadline deadline) {
        enter();
        try {
            RecordBatch batch = next(deadline);
            handOut(batch.number, batch.entries(batch.count()));
            return batch;
        } finally {
            polling.unlock();
        }
    }

    /** The next poll and commits count this as handled, if the program does not say itself what is. */
    private void handOut(long batch, int entries) {
        if (core.handledByPoll) {
            mark = new Mark(batch, entries, false);
        }
    }

    /** The next records or ends of partitions, which nobody counts as handed out yet. */
    private RecordBatch next(Deadline deadline) {
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
            handOut(batch.number, count);
            throwPostponed();
        }
    }

    RecordView pollViews(Deadline deadline) {
        enter();
        try {
            throwPostponed();
            int count = fill(deadline);
            if (count > 0) {
                handOut(info.getLong(BatchInfo.NUMBER), count);
            }
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
            if (polling.getHoldCount() > 1) {
                core.checkOpen();
                throw new IllegalStateException("a poll from a rebalance listener or a function of each()");
            }
            checkReading();
        } catch (RuntimeException wrong) {
            polling.unlock();
            throw wrong;
        }
    }

    private void checkReading() {
        core.checkOpen();
        if (!group.isReading()) {
            throw new IllegalStateException("the consumer is not subscribed to topics, nor assigned partitions");
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
        handOutHandled();
        mark = Mark.NONE;
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
        return new RecordBatch(info.getLong(BatchInfo.NUMBER), RecordBatch.list(records, found), ends, places, count);
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
            // Apache's client waits for such topics, joins its group anew, and asks a coordinator that moved or has just started
            // again, without a word to the program. So does the native client.
            case Constants.KABI_STATUS_UNKNOWN_TOPIC_OR_PART, Constants.KABI_STATUS_UNKNOWN_TOPIC,
                    Constants.KABI_STATUS_MAX_POLL_EXCEEDED, Constants.KABI_STATUS_NOT_COORDINATOR,
                    Constants.KABI_STATUS_COORDINATOR_NOT_AVAILABLE, Constants.KABI_STATUS_COORDINATOR_LOAD_IN_PROGRESS ->
                LOGGER.log(Level.WARNING, topic.isEmpty() ? text : topic + ": " + text);
            default -> {
                if (postponed == null) {
                    postponed = Failures.failure(code, 0, text);
                }
            }
        }
    }

    // ---- one by one ----

    /** Keeps other polls out also while the function runs: they would count as handled what it was not given yet. */
    long each(Duration idle, Predicate<? super Record> function) {
        long handled = 0;
        enter();
        try {
            while (true) {
                RecordBatch batch = next(Deadline.in(idle));
                if (batch.isEmpty() && batch.ends().isEmpty()) {
                    return handled;
                }
                int done = eachOf(batch, function);
                handled += Math.abs(done);
                if (done < 0) {
                    return handled;
                }
                checkReading();
            }
        } finally {
            polling.unlock();
        }
    }

    /** How many records were handled; negative if the function wants no more. */
    private int eachOf(RecordBatch batch, Predicate<? super Record> function) {
        List<Record> records = batch.records();
        int done = 0;
        Throwable thrown = null;
        mark = new Mark(batch.number, batch.entries(0), true);
        try {
            for (Record record : records) {
                boolean goOn = function.test(record);
                mark = new Mark(batch.number, batch.entries(++done), true);
                if (!goOn) {
                    return -done;
                }
                if (done % MARK_EVERY == 0) {
                    handOutHandled();
                }
            }
            return done;
        } catch (Throwable failure) {
            thrown = failure;
            throw failure;
        } finally {
            endEach(records.subList(done, records.size()), thrown);
        }
    }

    /** Says what was handled and puts the rest back; what fails then does not hide what the function has thrown. */
    private void endEach(List<Record> rest, Throwable thrown) {
        if (core.isClosed()) {
            return; // By the function or another thread; the close has said what was handled.
        }
        try {
            handOutHandled();
            mark = Mark.NONE;
            putBack(rest);
        } catch (RuntimeException | Error failure) {
            if (thrown == null) {
                throw failure;
            }
            thrown.addSuppressed(failure);
        }
    }

    /** Records that were polled and not handed out are read again. */
    private void putBack(List<Record> records) {
        if (records.isEmpty()) {
            return;
        }
        Map<TopicPartition, Long> first = new LinkedHashMap<>();
        for (Record record : records) {
            first.putIfAbsent(record.topicPartition(), record.offset());
        }
        first.keySet().retainAll(group.assignment());
        offsets.seekBack(first);
    }

    /** Says what an each() has handled, or what the last poll has handed out: for the next poll and commits without offsets. */
    void handOutHandled() {
        Mark handed = mark;
        core.handled(handed.batch(), handed.entries());
    }

    /** Says what an each() has handled; what a poll has handed out may be what failed. */
    private void sayHandled() {
        if (mark.isHandled()) {
            handOutHandled();
        }
    }

    // ---- ends ----

    void unsubscribe() {
        core.checkOpen();
        sayHandled();
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
            awaitClose(deadline);
            return;
        }
        closer = Thread.currentThread();
        try {
            closeNow(deadline);
        } finally {
            ended.countDown();
        }
    }

    private void closeNow(Deadline deadline) {
        Throwable thrown = beforeClose();
        core.markClosed();
        turn++;
        try {
            Scratch scratch = Scratch.take();
            int status = Blocking.handOver(deadline, scratch, timeout ->
                    KABI.kabi_consumer_close(core.handle, timeout, scratch.error()));
            if (status == Constants.KABI_STATUS_OK) {
                awaitEvents();
            }
            core.runCommitCallbacks();
            if (status == Constants.KABI_STATUS_TIMED_OUT) {
                throw new TimeoutException(scratch.message(), status, scratch.flags(), null);
            }
            scratch.check(status);
            scratch.close();
        } catch (RuntimeException | Error failure) {
            if (thrown != null) {
                failure.addSuppressed(thrown);
            }
            throw failure;
        }
        ConsumerGroup.rethrow(thrown);
    }

    /** The last commits' results are drained after the close; a listener that does not come back is not waited for. */
    private void awaitEvents() {
        if (core.events.isCurrentThread()) {
            return;
        }
        try {
            core.events.join(EVENTS_MILLIS);
        } catch (InterruptedException interrupt) {
            Thread.currentThread().interrupt();
        }
    }

    /** What the listener throws. */
    private Throwable beforeClose() {
        try {
            sayHandled();
            return group.tellRevokedAtClose();
        } catch (RuntimeException gone) {
            return null; // The native client has ended by a fault, which the close tells.
        }
    }

    /** Waits for the close of another thread, unless that may wait for this one. */
    private void awaitClose(Deadline deadline) {
        if (Thread.currentThread() == closer || polling.isHeldByCurrentThread() || core.events.isCurrentThread()) {
            return;
        }
        try {
            ended.await(deadline.leftNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException interrupt) {
            throw new InterruptException("the thread was interrupted; the close of another thread goes on");
        }
    }
}
