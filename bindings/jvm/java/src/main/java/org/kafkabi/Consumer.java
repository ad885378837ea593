package org.kafkabi;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import org.kafkabi.Blocking.Deadline;

/**
 * Receives records, alone or as a member of a group.
 *
 * <p><b>Threads.</b> One thread at a time polls. Everything else may be called from any thread, also during a poll.
 *
 * <p><b>What is committed.</b> Only what was handled: the next poll says so for what earlier ones handed out. With
 * {@code enable.auto.commit} (the default) it is committed in the background and by {@link #close()}; a program that is
 * killed gets the records of its last poll again. {@link #commit()} also counts all of the last poll. With
 * {@code kafkabi.handled=explicit} only {@link #handled} and {@link #each} count.
 *
 * <p><b>Waiting.</b> A {@link #wakeup} ends the call that waits, or else the next one, with
 * {@link org.kafkabi.errors.WakeupException}; an interrupt ends it with {@link org.kafkabi.errors.InterruptException}.
 * Calls without a time-out wait up to {@code default.api.timeout.ms}.
 */
public final class Consumer implements AutoCloseable {
    private final ConsumerCore core;
    private final ConsumerPoll poll;
    private final ConsumerGroup group;
    private final ConsumerOffsets offsets;
    private final Cleaner.Cleanable cleanable;

    /** Makes a consumer. It connects in the background. */
    public Consumer(Config config) {
        core = new ConsumerCore(config);
        cleanable = Reaper.register(this, core::abandon);
        group = new ConsumerGroup(core);
        offsets = new ConsumerOffsets(core, this);
        poll = new ConsumerPoll(core, group, offsets);
    }

    /** Makes a consumer from properties, as {@link Config#of(Map)} takes them. */
    public Consumer(Map<String, ?> properties) {
        this(Config.of(properties));
    }

    // ---- what to read ----

    /** Joins the group to share the partitions of these topics with its other members; replaces a subscription. */
    public void subscribe(Collection<String> topics) {
        subscribe(topics, null);
    }

    /** As {@link #subscribe(Collection)}, with a listener of changes, which may be null. */
    public void subscribe(Collection<String> topics, RebalanceListener listener) {
        if (topics.isEmpty()) {
            unsubscribe();
        } else {
            group.subscribe(List.copyOf(topics), listener);
        }
    }

    /** Joins the group for all topics whose whole name the pattern fits, also those that come later. */
    public void subscribe(Pattern pattern) {
        subscribe(pattern, null);
    }

    /** As {@link #subscribe(Pattern)}, with a listener of changes, which may be null. */
    public void subscribe(Pattern pattern, RebalanceListener listener) {
        group.subscribe(List.of("^(" + pattern.pattern() + ")$"), listener);
    }

    /**
     * Leaves the group, or gives up the partitions that were assigned. The listener is told. As with {@link #close()}, the
     * records of the last poll don't count as handled by it.
     */
    public void unsubscribe() {
        try {
            poll.unsubscribe();
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** The names subscribed to; patterns begin with '^'. */
    public Set<String> subscription() {
        return group.subscription();
    }

    /** Reads exactly these partitions, from where the group committed, or else as auto.offset.reset says. */
    public void assign(Collection<TopicPartition> partitions) {
        group.assign(partitions);
    }

    /**
     * Reads these partitions too, besides those assigned already by {@link #assign}.
     *
     * @throws IllegalStateException if one is assigned already, or topics are subscribed to
     */
    public void incrementalAssign(Collection<TopicPartition> partitions) {
        group.incrementalAssign(partitions);
    }

    /**
     * Reads these partitions no more; the others stay.
     *
     * @throws IllegalStateException if one is not assigned, or topics are subscribed to
     */
    public void incrementalUnassign(Collection<TopicPartition> partitions) {
        group.incrementalUnassign(partitions);
    }

    /** The partitions that are read now. */
    public Set<TopicPartition> assignment() {
        return group.assignment();
    }

    // ---- records ----

    /**
     * Waits up to this long for records and hands out up to {@code max.poll.records} of those that are there. Empty when
     * the time is up. What earlier polls handed out counts as handled from here on.
     *
     * @throws IllegalStateException if nothing is subscribed to nor assigned, or another thread polls
     */
    public RecordBatch poll(Duration timeout) {
        try {
            return poll.poll(Deadline.in(timeout));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * As {@link #poll}, but hands out views: a cursor over the records where they lie. It allocates nothing for a record,
     * and throws once the next poll, of either kind, has begun.
     */
    public RecordView pollViews(Duration timeout) {
        try {
            return poll.pollViews(Deadline.in(timeout));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Polls and hands records to a function, one by one, until it returns false or no record has come for so long. A
     * record is handled when the function has returned from it, and only then may be committed; what was polled and not
     * handed out is read again by the next poll, also after an interrupt or a wakeup. An exception of the function's comes
     * through: its record is not handled. The function may commit, but not poll; nor may other threads meanwhile.
     *
     * @return how many records were handed out and handled
     */
    public long each(Duration idle, Predicate<? super Record> function) {
        try {
            return poll.each(idle, function);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Says that the first `count` records of a batch are handled, which takes nothing back.
     *
     * @throws IllegalArgumentException if the batch has fewer
     */
    public void handled(RecordBatch batch, int count) {
        if (count < 0 || count > batch.count()) {
            throw new IllegalArgumentException(count + " records of a batch of " + batch.count() + " can't be handled");
        }
        core.handled(batch.number, batch.entries(count));
    }

    /** Says that all records of a batch are handled. */
    public void handled(RecordBatch batch) {
        handled(batch, batch.count());
    }

    /** Ends the call that waits, on any thread, or else the next one, with WakeupException. */
    public void wakeup() {
        core.wakeup();
    }

    // ---- commits ----

    /** Commits all that is handled, and the records of the last poll, and waits for the answer. */
    public void commit() {
        commit(core.apiTimeout());
    }

    /** As {@link #commit()}, but waits up to this long. */
    public void commit(Duration timeout) {
        poll.handOutHandled();
        offsets.commit(Map.of(), Deadline.in(timeout));
        core.runCommitCallbacks();
    }

    /** Commits these offsets, each that of the next record to read, and waits for the answer. */
    public void commit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        commit(offsets, core.apiTimeout());
    }

    /** As {@link #commit(Map)}, but waits up to this long. */
    public void commit(Map<TopicPartition, OffsetAndMetadata> offsets, Duration timeout) {
        if (!offsets.isEmpty()) {
            this.offsets.commit(offsets, Deadline.in(timeout));
        }
        core.runCommitCallbacks();
    }

    /** Commits up to and with this record in its partition, and waits for the answer. */
    public void commit(Record record) {
        commit(Map.of(record.topicPartition(), next(record)));
    }

    /** The offset to commit when this record is handled: the next one. */
    public static OffsetAndMetadata next(Record record) {
        return new OffsetAndMetadata(record.offset() + 1, record.leaderEpoch(), "");
    }

    /** Commits what {@link #commit()} does, and does not wait; the future is completed on the consumer's event thread. */
    public CompletableFuture<Map<TopicPartition, OffsetAndMetadata>> commitAsync() {
        return commitAsync(Map.of());
    }

    /** Commits these offsets and does not wait; none stands for what {@link #commit()} commits. */
    public CompletableFuture<Map<TopicPartition, OffsetAndMetadata>> commitAsync(
            Map<TopicPartition, OffsetAndMetadata> offsets) {
        if (offsets.isEmpty()) {
            poll.handOutHandled();
        }
        CompletableFuture<Map<TopicPartition, OffsetAndMetadata>> future = new CompletableFuture<>();
        this.offsets.commitAsync(offsets, (committed, failure) -> {
            if (failure == null) {
                future.complete(committed);
            } else {
                future.completeExceptionally(failure);
            }
        });
        return future;
    }

    /** As {@link #commitAsync()}, with a callback, which runs inside a later poll, commit or close. */
    public void commitAsync(CommitCallback callback) {
        commitAsync(Map.of(), callback);
    }

    /** As {@link #commitAsync(Map)}, with a callback, which runs inside a later poll, commit or close. */
    public void commitAsync(Map<TopicPartition, OffsetAndMetadata> offsets, CommitCallback callback) {
        if (offsets.isEmpty()) {
            poll.handOutHandled();
        }
        this.offsets.commitAsync(offsets, core.later(callback));
    }

    /**
     * Stores offsets, each that of the next record to read, for the next commit of all that is handled: the automatic one,
     * {@link #commit()} or the close. What is handled later takes their place; with {@code kafkabi.handled=explicit} only
     * this and {@link #handled} count.
     */
    public void store(Map<TopicPartition, OffsetAndMetadata> offsets) {
        this.offsets.store(offsets);
    }

    /** What the group has committed; partitions without a commit are left out. */
    public Map<TopicPartition, OffsetAndMetadata> committed(Collection<TopicPartition> partitions) {
        return committed(partitions, core.apiTimeout());
    }

    /** As {@link #committed(Collection)}, but waits up to this long. */
    public Map<TopicPartition, OffsetAndMetadata> committed(Collection<TopicPartition> partitions, Duration timeout) {
        return offsets.committed(partitions, Deadline.in(timeout));
    }

    // ---- positions ----

    /** Reads this partition on from this offset. */
    public void seek(TopicPartition partition, long offset) {
        if (offset < 0) {
            throw new IllegalArgumentException("offset " + offset + " of " + partition + ": offsets count from 0");
        }
        offsets.seek(Map.of(partition, offset));
    }

    /** Reads these partitions on from these offsets. */
    public void seek(Map<TopicPartition, Long> offsets) {
        this.offsets.seek(offsets);
    }

    /** Reads these partitions on from their first records; with none all that are assigned. */
    public void seekToBeginning(Collection<TopicPartition> partitions) {
        offsets.seekAll(partitions.isEmpty() ? assignment() : partitions, ConsumerOffsets.BEGINNING);
    }

    /** Reads these partitions on from their ends; with none all that are assigned. */
    public void seekToEnd(Collection<TopicPartition> partitions) {
        offsets.seekAll(partitions.isEmpty() ? assignment() : partitions, ConsumerOffsets.END);
    }

    /** Reads these partitions on from the first record at or after a time, in milliseconds since 1970. */
    public void seekToTimes(Map<TopicPartition, Long> times) {
        offsets.seekToTimes(times);
    }

    /** The offset of the next record that polls hand out. Brokers are asked where it is not known here. */
    public long position(TopicPartition partition) {
        return offsets.position(partition, Deadline.in(core.apiTimeout()));
    }

    /** The first offset of each partition. */
    public Map<TopicPartition, Long> beginningOffsets(Collection<TopicPartition> partitions) {
        return watermarks(partitions, true);
    }

    /** The offset after the last record of each partition. */
    public Map<TopicPartition, Long> endOffsets(Collection<TopicPartition> partitions) {
        return watermarks(partitions, false);
    }

    private Map<TopicPartition, Long> watermarks(Collection<TopicPartition> partitions, boolean low) {
        Deadline deadline = Deadline.in(core.apiTimeout());
        Map<TopicPartition, Long> found = new LinkedHashMap<>();
        for (TopicPartition partition : partitions) {
            found.put(partition, offsets.watermarks(partition, deadline)[low ? 0 : 1]);
        }
        return found;
    }

    /** The first record at or after a time, for each partition; partitions without one are left out. */
    public Map<TopicPartition, OffsetAndTimestamp> offsetsForTimes(Map<TopicPartition, Long> times) {
        return offsets.offsetsForTimes(times, Deadline.in(core.apiTimeout()));
    }

    /** How many records each partition has that were not handed out yet; -1 where it can't be told. */
    public Map<TopicPartition, Long> lag(Collection<TopicPartition> partitions) {
        return offsets.lag(partitions, Deadline.in(core.apiTimeout()));
    }

    /** Keeps polls from handing out records of these partitions. */
    public void pause(Collection<TopicPartition> partitions) {
        group.pause(partitions);
    }

    /** Lets these partitions flow again. */
    public void resume(Collection<TopicPartition> partitions) {
        group.resume(partitions);
    }

    /** The partitions that are paused. */
    public Set<TopicPartition> paused() {
        return group.paused();
    }

    // ---- the rest ----

    /** The name that the group knows this consumer by; empty before it has joined. */
    public String memberId() {
        return group.memberId();
    }

    /** Group, generation and member, for a transaction's offsets in another process. */
    public byte[] groupMetadata() {
        return group.groupMetadata();
    }

    /** The native client's and kafkabi's figures as a JSON document (api/metrics.schema.json has its shape). */
    public String metrics() {
        return group.metrics();
    }

    /**
     * The group's generation as this member knows it, or its own epoch with group.protocol=consumer: it grows with each
     * new assignment. Below 0 while the consumer is no member.
     */
    public int groupGeneration() {
        return group.generation();
    }

    /** How the group changes assignments: "EAGER", "COOPERATIVE", or "NONE" before the consumer has joined. */
    public String rebalanceProtocol() {
        return group.rebalanceProtocol();
    }

    /**
     * Gives the client another user name and password, for SASL's PLAIN and SCRAM. Connections made from now on use them;
     * those that stand are left alone. Whether brokers accept them is told by {@link Config#onError}.
     */
    public void setCredentials(String username, String password) {
        core.checkOpen();
        Credentials.set(username, password, (user, secret, error) ->
                ConsumerCore.KABI.kabi_consumer_credentials_set(core.handle, user, secret, error));
    }

    TopicNumbers topics() {
        return core.topics;
    }

    long handle() {
        return core.handle;
    }

    /** As {@link #close(Duration)} with 30 seconds. */
    @Override
    public void close() {
        close(Duration.ofSeconds(30));
    }

    /**
     * Tells the listener that the partitions go, commits what is handled (if commits are automatic) and leaves the group,
     * all within this time; the rest goes on in the background. The records of the last poll don't count as handled unless
     * that was said, since what closes may be a failure: call {@link #commit()} before, or {@link #handled}. A second close waits for the first.
     *
     * @throws org.kafkabi.errors.TimeoutException if it took longer; the message says if offsets are not saved
     */
    public void close(Duration timeout) {
        try {
            poll.close(Deadline.in(timeout));
        } finally {
            cleanable.clean();
        }
    }
}
