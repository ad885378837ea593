package org.kafkabi;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import org.kafkabi.Blocking.Deadline;
import org.kafkabi.Blocking.Slice;
import org.kafkabi.errors.TimeoutException;
import org.kafkabi.errors.WakeupException;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Functions;
import org.kafkabi.lowlevel.Kabi;

/** What the parts of a consumer share: the native client, its events, wake-ups, and the way to wait. */
final class ConsumerCore {
    static final Functions KABI = Kabi.functions();
    private static final Logger LOGGER = System.getLogger("org.kafkabi.consumer");
    private static final int EVENTS = Constants.KABI_EVENT_ERROR | Constants.KABI_EVENT_LOG
            | Constants.KABI_EVENT_STATISTICS | Constants.KABI_EVENT_TOKEN | Constants.KABI_EVENT_COMMIT
            | Constants.KABI_EVENT_THROTTLE | Constants.KABI_EVENT_REQUEST;

    /** The native client waits for a word of what is handled: what polls and each() count is counted here. */
    private static final Map<String, String> FORCED =
            Map.of("kafkabi.assignment", "apply", "kafkabi.handled", "explicit");

    final long handle;
    final TopicNumbers topics;
    final int maxPollRecords;
    final boolean handledByPoll;
    final String offsetReset;
    final boolean hasGroup;
    private final long apiTimeoutMillis;
    private final AtomicBoolean woken = new AtomicBoolean();
    private final AtomicBoolean closing = new AtomicBoolean();
    private volatile boolean closed;
    final Events events;

    /** Where the program sought the beginning or the end, which the native client knows no offset of. */
    final Map<TopicPartition, Long> sought = new ConcurrentHashMap<>();

    ConsumerCore(Config config) {
        maxPollRecords = (int) Math.min(Integer.MAX_VALUE, config.number("max.poll.records"));
        apiTimeoutMillis = config.number("default.api.timeout.ms");
        handledByPoll = !"explicit".equals(config.get("kafkabi.handled"));
        offsetReset = config.get("auto.offset.reset");
        hasGroup = config.get("group.id") != null;
        long nativeConfig = config.toNative(EVENTS, FORCED);
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_consumer_new(nativeConfig, scratch.out(0), scratch.error()));
            handle = scratch.longOut(0);
        } finally {
            KABI.kabi_config_free(nativeConfig);
        }
        topics = new TopicNumbers(
                (text, out, error) -> KABI.kabi_consumer_topic(handle, text, out, error),
                (topic, buffer, size, length, error) ->
                        KABI.kabi_consumer_topic_name(handle, topic, buffer, size, length, error));
        try {
            events = new Events(handle, config.properties().getOrDefault("client.id", ""), config.listeners(), topics);
            events.start();
        } catch (Throwable failure) {
            // No memory or no thread for it: nobody else would free the native client.
            KABI.kabi_consumer_free(handle);
            throw failure;
        }
    }

    Duration apiTimeout() {
        return Duration.ofMillis(apiTimeoutMillis);
    }

    void checkOpen() {
        if (closed) {
            throw new IllegalStateException("the consumer is closed");
        }
    }

    /** True for the first that closes; the listener may still use the consumer. */
    boolean markClosing() {
        return closing.compareAndSet(false, true);
    }

    void markClosed() {
        closed = true;
    }

    boolean isClosed() {
        return closed;
    }

    void wakeup() {
        woken.set(true);
        KABI.kabi_consumer_wake(handle, 0);
    }

    void checkWakeup() {
        if (woken.getAndSet(false)) {
            throw new WakeupException("the call was ended by a wakeup");
        }
    }

    /** Makes a call that waits for brokers, with the time that is left, so that wake-ups and interrupts end it. */
    void await(Deadline deadline, String late, Scratch scratch, Slice call) {
        checkOpen();
        int status;
        do {
            status = Blocking.whole(deadline, woken::get, () -> KABI.kabi_consumer_wake(handle, 0), call);
            if (status == Constants.KABI_STATUS_INTERRUPTED) {
                checkWakeup();
            }
            // Else another thread that waits here was ended by the wakeup, which ends one call.
        } while (status == Constants.KABI_STATUS_INTERRUPTED);
        if (status == Constants.KABI_STATUS_TIMED_OUT) {
            throw new TimeoutException(late, status, scratch.flags(), null);
        }
        scratch.check(status);
    }

    void handled(long batch, int count) {
        if (batch != 0) {
            try (Scratch scratch = Scratch.take()) {
                scratch.check(KABI.kabi_consumer_handled(handle, batch, count, scratch.error()));
            }
        }
    }

    // ---- commits that nobody waits for ----

    private final ConcurrentLinkedQueue<Runnable> commitResults = new ConcurrentLinkedQueue<>();

    /** A callback that runs when a thread of the program is in the consumer. */
    CommitCallback later(CommitCallback callback) {
        return (offsets, failure) -> {
            if (callback != null) {
                commitResults.add(() -> callback.onCompletion(offsets, failure));
            } else if (failure != null) {
                LOGGER.log(Level.ERROR, "a commit failed", failure);
            }
        };
    }

    void runCommitCallbacks() {
        for (Runnable result = commitResults.poll(); result != null; result = commitResults.poll()) {
            result.run();
        }
    }

    /** Called by the Cleaner: what is handled is committed and the group left in the background. */
    void abandon() {
        if (markClosing()) {
            closed = true;
            LOGGER.log(Level.WARNING, "a consumer was never closed: it leaves its group in the background");
            Blocking.closeForgotten(timeout -> KABI.kabi_consumer_close(handle, timeout, 0),
                    () -> KABI.kabi_consumer_free(handle));
        }
    }

    /** The consumer's thread of events. */
    static final class Events extends EventPump {
        private final long consumer;
        private final TopicNumbers topics;
        private final Map<Long, Waiting> commits = new HashMap<>();

        private record Waiting(Map<TopicPartition, OffsetAndMetadata> offsets, CommitCallback callback) {}

        Events(long consumer, String name, Listeners listeners, TopicNumbers topics) {
            super("consumer", name, listeners);
            this.consumer = consumer;
            this.topics = topics;
        }

        /** Starts a commit under the lock, so that its event finds the callback. */
        void commit(Partitions array, Map<TopicPartition, OffsetAndMetadata> offsets, CommitCallback callback) {
            synchronized (commits) {
                try (Scratch scratch = Scratch.take()) {
                    scratch.check(KABI.kabi_consumer_commit_async(
                            consumer, array.addressOrNull(), array.capacity(), scratch.out(0), scratch.error()));
                    commits.put(scratch.longOut(0), new Waiting(offsets, callback));
                } finally {
                    Reference.reachabilityFence(array);
                }
            }
        }

        /** Commits whose events were lost with the client fail too, so that nobody waits for ever. */
        @Override
        void ended() {
            KABI.kabi_consumer_free(consumer);
            List<Waiting> left;
            synchronized (commits) {
                left = List.copyOf(commits.values());
                commits.clear();
            }
            for (Waiting waiting : left) {
                try {
                    waiting.callback().onCompletion(waiting.offsets(),
                            Failures.failure(Constants.KABI_STATUS_CLOSED, KafkaException.OUTCOME_UNKNOWN));
                } catch (RuntimeException | Error thrown) {
                    logger.log(Level.ERROR, "a commit's callback threw an exception", thrown);
                }
            }
        }

        @Override
        int drain(int timeoutMs, long events, long capacity, long count, long bytes, long size, long used, long error) {
            return KABI.kabi_consumer_drain(consumer, timeoutMs, events, capacity, count, bytes, size, used, error);
        }

        @Override
        void answerToken(TokenProvider provider, String config) {
            Tokens.answer(provider, config,
                    (token, expires, principal, extensions, error) ->
                            KABI.kabi_consumer_token_set(consumer, token, expires, principal, extensions, error),
                    (why, error) -> KABI.kabi_consumer_token_failure(consumer, why, error), logger);
        }

        @Override
        void committed(long number, int code, Partitions partitions) {
            Waiting waiting;
            synchronized (commits) {
                waiting = commits.remove(number);
            }
            if (waiting != null) {
                waiting.callback().onCompletion(
                        waiting.offsets().isEmpty() ? offsets(partitions) : waiting.offsets(),
                        code == Constants.KABI_STATUS_OK ? null : Failures.failure(code, 0));
            }
        }

        private Map<TopicPartition, OffsetAndMetadata> offsets(Partitions partitions) {
            Map<TopicPartition, OffsetAndMetadata> offsets = new LinkedHashMap<>();
            for (int i = 0; i < partitions.capacity(); i++) {
                if (partitions.offset(i) >= 0) {
                    offsets.put(partitions.partition(i, topics),
                            new OffsetAndMetadata(partitions.offset(i), partitions.leaderEpoch(i), ""));
                }
            }
            return offsets;
        }
    }
}
