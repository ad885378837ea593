package org.kafkabi;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Map;
import java.util.concurrent.locks.ReentrantLock;
import org.kafkabi.Blocking.Deadline;
import org.kafkabi.errors.InterruptException;
import org.kafkabi.errors.TimeoutException;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Functions;
import org.kafkabi.lowlevel.Kabi;
import org.kafkabi.lowlevel.Memory;

/**
 * A producer's transactions. Each call waits up to {@code max.block.ms}, then throws
 * {@link org.kafkabi.errors.TimeoutException}; the same call again goes on where it was. What else is thrown says by its
 * flags what to do: {@link KafkaException#retriable()} the same call again, {@link KafkaException#abortRequired()}
 * {@link #abort()}, {@link KafkaException#fatal()} a new producer.
 *
 * <p>One transaction is open at a time; any threads may send in it. Calls of this class take turns.
 */
public final class Transactions {
    private static final Functions KABI = Kabi.functions();

    private final ProducerCore core;

    /** Keeps the producer reachable. */
    private final Producer producer;

    /** Held by the call whose turn it is. No monitor: these keep the carrier of a virtual thread busy, and wait for ever. */
    private final ReentrantLock turn = new ReentrantLock();

    /** Whether a transaction was begun that is neither committed nor aborted. */
    private boolean open;

    Transactions(Producer producer, ProducerCore core) {
        this.producer = producer;
        this.core = core;
    }

    private void inTurn(Runnable call) {
        try {
            if (!turn.tryLock()) {
                turn.lockInterruptibly();
            }
        } catch (InterruptedException interrupt) {
            throw new InterruptException("interrupted while another thread's call of the transactions was going on");
        }
        try {
            call.run();
        } finally {
            turn.unlock();
            Reference.reachabilityFence(producer);
        }
    }

    /**
     * Makes this producer the only one with its {@code transactional.id}: finishes or aborts what one before it left
     * behind, and fences that one off. Once, before the first transaction.
     */
    public void init() {
        inTurn(this::initNow);
    }

    private void initNow() {
        checkTransactional();
        call("the transactions could not be initialised", (slice, error) ->
                KABI.kabi_producer_transactions_init(core.handle, slice, error));
    }

    /** Begins a transaction, which what is sent from now on belongs to. */
    public void begin() {
        inTurn(this::beginNow);
    }

    private void beginNow() {
        checkTransactional();
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_producer_transaction_begin(core.handle, scratch.error()));
        }
        core.staging.forgetFailure();
        open = true;
        core.inTransaction = true;
    }

    /**
     * Makes offsets of a consumer's group a part of the transaction: they are committed with it, or not at all. The
     * consumer must not commit them itself: set {@code enable.auto.commit=false}. A consumer that its group has given up
     * meanwhile is refused; then abort.
     *
     * @param offsets of each partition that of the next record to read
     */
    public void offsets(Map<TopicPartition, OffsetAndMetadata> offsets, Consumer consumer) {
        inTurn(() -> addOffsets(offsets, consumer));
    }

    private void addOffsets(Map<TopicPartition, OffsetAndMetadata> offsets, Consumer consumer) {
        Partitions array = array(offsets, consumer.topics());
        checkTransaction();
        core.settle(deadline());
        try {
            call("the offsets could not be added to the transaction", (slice, error) ->
                    KABI.kabi_producer_transaction_offsets(
                            core.handle, consumer.handle(), array.addressOrNull(), array.capacity(), slice, error));
        } finally {
            Reference.reachabilityFence(array);
            Reference.reachabilityFence(consumer);
        }
    }

    /** As {@link #offsets(Map, Consumer)}, for a consumer in another process, by {@link Consumer#groupMetadata()}. */
    public void offsets(Map<TopicPartition, OffsetAndMetadata> offsets, byte[] groupMetadata) {
        inTurn(() -> addOffsets(offsets, groupMetadata));
    }

    private void addOffsets(Map<TopicPartition, OffsetAndMetadata> offsets, byte[] groupMetadata) {
        Partitions array = array(offsets, core.topics);
        ByteBuffer metadata = Memory.allocate(groupMetadata.length);
        metadata.put(0, groupMetadata);
        checkTransaction();
        core.settle(deadline());
        try {
            call("the offsets could not be added to the transaction", (slice, error) ->
                    KABI.kabi_producer_transaction_offsets_metadata(core.handle, Memory.address(metadata),
                            groupMetadata.length, array.addressOrNull(), array.capacity(), slice, error));
        } finally {
            Reference.reachabilityFence(array);
            Reference.reachabilityFence(metadata);
        }
    }

    /**
     * As {@link #offsets(Map, Consumer)}, for a group that is known by its id alone. Nothing then keeps a second reader
     * from doing the same, unless both use the same {@code transactional.id}.
     */
    public void offsets(Map<TopicPartition, OffsetAndMetadata> offsets, String groupId) {
        inTurn(() -> addOffsets(offsets, groupId));
    }

    private void addOffsets(Map<TopicPartition, OffsetAndMetadata> offsets, String groupId) {
        Partitions array = array(offsets, core.topics);
        ByteBuffer group = Memory.text(groupId);
        checkTransaction();
        core.settle(deadline());
        try {
            call("the offsets could not be added to the transaction", (slice, error) ->
                    KABI.kabi_producer_transaction_offsets_group(core.handle, Memory.address(group),
                            array.addressOrNull(), array.capacity(), slice, error));
        } finally {
            Reference.reachabilityFence(array);
            Reference.reachabilityFence(group);
        }
    }

    private static Partitions array(Map<TopicPartition, OffsetAndMetadata> offsets, TopicNumbers topics) {
        Partitions array = new Partitions(offsets.size());
        int index = 0;
        for (Map.Entry<TopicPartition, OffsetAndMetadata> entry : offsets.entrySet()) {
            array.set(index, topics, entry.getKey(), entry.getValue().offset());
            array.setCommitted(index++, entry.getValue());
        }
        return array;
    }

    /**
     * Commits: waits until all that was sent in the transaction is delivered and the coordinator has it as committed.
     * If a record has failed it throws, with {@link KafkaException#abortRequired()}.
     */
    public void commit() {
        inTurn(this::commitNow);
    }

    private void commitNow() {
        checkTransaction();
        Deadline deadline = deadline();
        core.inTransaction = false;
        Staging.Epoch epoch = core.staging.endEpoch();
        core.settle(deadline);
        // The native client knows nothing of records that failed before it took them.
        KafkaException failure = core.staging.firstFailure();
        if (failure != null) {
            throw new KafkaException("a record of the transaction was not delivered: " + failure.getMessage(),
                    failure.code(), KafkaException.ABORT_REQUIRED, failure);
        }
        call("the transaction is not committed yet", deadline, (slice, error) ->
                KABI.kabi_producer_transaction_commit(core.handle, slice, error));
        open = false;
        awaitComplete(epoch, deadline);
    }

    /** Aborts: what was not sent yet fails, and what was is never seen by consumers that read committed records. */
    public void abort() {
        inTurn(this::abortNow);
    }

    private void abortNow() {
        checkTransaction();
        Deadline deadline = deadline();
        core.inTransaction = false;
        Staging.Epoch epoch = core.staging.endEpoch();
        core.staging.discard(true);
        try {
            core.settle(deadline);
        } finally {
            core.staging.discard(false);
        }
        call("the transaction is not aborted yet", deadline, (slice, error) ->
                KABI.kabi_producer_transaction_abort(core.handle, slice, error));
        open = false;
        awaitComplete(epoch, deadline);
    }

    private void checkTransaction() {
        checkTransactional();
        if (!open) {
            throw new IllegalStateException("no transaction is open: begin one first");
        }
    }

    private void checkTransactional() {
        core.checkOpen();
        if (!core.transactional) {
            throw new IllegalStateException("the producer has no transactional.id, so it has no transactions");
        }
    }

    /** After the transaction has ended, which must not look like a failure: an interrupt is left for what comes next. */
    private void awaitComplete(Staging.Epoch epoch, Deadline deadline) {
        if (core.delivery.isCurrentThread()) {
            return;
        }
        try {
            core.awaitComplete(epoch, deadline);
        } catch (InterruptException interrupt) {
            // The thread's interrupt status is set again.
        }
    }

    private Deadline deadline() {
        return Deadline.in(core.maxBlockMillis);
    }

    @FunctionalInterface
    private interface Call {
        int make(int timeoutMs, long error);
    }

    private void call(String late, Call call) {
        call(late, deadline(), call);
    }

    private void call(String late, Deadline deadline, Call call) {
        core.checkOpen();
        try (Scratch scratch = Scratch.take()) {
            int status = Blocking.run(deadline, slice -> call.make(slice, scratch.error()));
            if (status == Constants.KABI_STATUS_TIMED_OUT) {
                throw new TimeoutException(late + ", after max.block.ms, " + core.maxBlockMillis
                        + " ms: calling again goes on", status, KafkaException.RETRIABLE, null);
            }
            scratch.check(status);
        }
    }
}
