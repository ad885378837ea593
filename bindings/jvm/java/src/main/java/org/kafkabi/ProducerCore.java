package org.kafkabi;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.kafkabi.Blocking.Deadline;
import org.kafkabi.errors.BufferExhaustedException;
import org.kafkabi.errors.InterruptException;
import org.kafkabi.errors.TimeoutException;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Functions;
import org.kafkabi.lowlevel.Kabi;

/**
 * What a producer is made of: the native client, the staging, and the two threads. It holds no reference to the
 * {@link Producer} that programs have: when that one is collected, {@link #abandon} lets the sender bring things to an
 * end.
 */
final class ProducerCore {
    static final Functions KABI = Kabi.functions();
    private static final Logger LOGGER = System.getLogger("org.kafkabi.producer");
    private static final int EVENTS = Constants.KABI_EVENT_REPORT | Constants.KABI_EVENT_ERROR | Constants.KABI_EVENT_LOG
            | Constants.KABI_EVENT_STATISTICS | Constants.KABI_EVENT_TOKEN | Constants.KABI_EVENT_THROTTLE
            | Constants.KABI_EVENT_REQUEST;
    private static final long GATHER_NANOS = 500_000;
    private static final int TEARDOWN_MILLIS = 30_000;

    final long handle;
    final TopicNumbers topics;
    final Staging staging;
    final Delivery delivery;
    final long maxBlockMillis;
    final long deliveryMillis;
    final boolean transactional;
    private final Sender sender;
    private final AtomicBoolean closing = new AtomicBoolean();
    private volatile boolean abandoned;
    private final CountDownLatch senderEnded = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);

    /** Whether a transaction is open and takes records; only of a transactional producer. */
    volatile boolean inTransaction;

    private final Staging.Gate gate = this::checkSend;

    ProducerCore(Config config) {
        maxBlockMillis = config.number("max.block.ms");
        deliveryMillis = config.number("delivery.timeout.ms");
        transactional = config.get("transactional.id") != null;
        String name = config.properties().getOrDefault("client.id", "");
        long linger = (long) (Double.parseDouble(config.get("linger.ms")) * 1_000_000);
        long nativeConfig = config.toNative(EVENTS, Map.of());
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_producer_new(nativeConfig, scratch.out(0), scratch.error()));
            handle = scratch.longOut(0);
        } finally {
            KABI.kabi_config_free(nativeConfig);
        }
        topics = new TopicNumbers(
                (text, out, error) -> KABI.kabi_producer_topic(handle, text, out, error),
                (topic, buffer, size, length, error) ->
                        KABI.kabi_producer_topic_name(handle, topic, buffer, size, length, error));
        try {
            staging = new Staging(Math.min(GATHER_NANOS, linger));
            delivery = new Delivery(handle, name, config.listeners(), staging, topics, this::finish);
            sender = new Sender(handle, name, staging, deliveryMillis * 1_000_000, this::senderEnded);
            delivery.start();
            sender.start();
        } catch (Throwable failure) {
            // No memory or no thread for it: nobody else would free the native client, whose end ends a thread that has begun.
            KABI.kabi_producer_free(handle);
            throw failure;
        }
    }

    // ---- sending ----

    void send(int topic, PackedRecord record, Object pending) {
        boolean fromCallback = delivery.isCurrentThread();
        try {
            long block = fromCallback ? 0 : nanos(maxBlockMillis);
            if (staging.append(record, topic, pending, block, gate)) {
                return;
            }
        } catch (InterruptedException interrupt) {
            throw new InterruptException("interrupted while the producer's memory was full; the record was not taken");
        }
        throw new BufferExhaustedException("the producer's memory was full for max.block.ms, " + maxBlockMillis
                + " ms; the record for topic " + topics.name(topic) + " was not taken");
    }

    static long nanos(long millis) {
        return millis > Long.MAX_VALUE / 1_000_000 ? Long.MAX_VALUE : Math.max(1, millis * 1_000_000);
    }

    private void checkSend() {
        checkOpen();
        if (transactional && !inTransaction) {
            throw new IllegalStateException("no transaction is open: begin one first");
        }
    }

    void checkOpen() {
        if (closing.get()) {
            throw new IllegalStateException("the producer is closed");
        }
    }

    // ---- flushing ----

    void flush(Deadline deadline) {
        if (delivery.isCurrentThread()) {
            throw new IllegalStateException("a flush from a delivery callback would wait for itself");
        }
        Staging.Epoch epoch = staging.endEpoch();
        settle(deadline);
        while (!awaitComplete(epoch, Deadline.in(0))) {
            int status = Blocking.run(Deadline.in(Math.min(Blocking.SLICE_MILLIS, deadline.slice(Blocking.SLICE_MILLIS))),
                    slice -> KABI.kabi_producer_flush(handle, slice, 0, 0));
            if (status == Constants.KABI_STATUS_CLOSED || status == Constants.KABI_STATUS_HANDLE) {
                if (awaitComplete(epoch, Deadline.in(deadline.slice(Blocking.SLICE_MILLIS)))) {
                    return;
                }
                throw new IllegalStateException("the producer was closed during a flush");
            }
            // All reports are there; the delivery thread may still have to hand some over.
            if (status == Constants.KABI_STATUS_OK
                    && awaitComplete(epoch, Deadline.in(deadline.slice(Blocking.SLICE_MILLIS)))) {
                return;
            }
            if (deadline.passed()) {
                throw new TimeoutException("records were not delivered within the time of the flush");
            }
        }
    }

    /** Waits until what is staged has crossed. */
    void settle(Deadline deadline) {
        try {
            if (!staging.awaitSettled(deadline.leftNanos())) {
                throw new TimeoutException("the native client did not take the staged records in time");
            }
        } catch (InterruptedException interrupt) {
            throw new InterruptException("interrupted during a flush");
        }
    }

    boolean awaitComplete(Staging.Epoch epoch, Deadline deadline) {
        try {
            return staging.awaitComplete(epoch, deadline.leftNanos());
        } catch (InterruptedException interrupt) {
            throw new InterruptException("interrupted during a flush");
        }
    }

    // ---- the end ----

    /** Called by the Cleaner: the sender takes what is staged, then closes, on its own thread. */
    void abandon() {
        abandoned = true;
        if (closing.compareAndSet(false, true)) {
            LOGGER.log(Level.WARNING, "a producer was never closed: it is flushed and closed in the background");
            staging.close();
        }
    }

    private void senderEnded() {
        senderEnded.countDown();
        if (abandoned) {
            long millis = deliveryMillis > 0 ? deliveryMillis : TEARDOWN_MILLIS;
            KABI.kabi_producer_close(handle, (int) Math.min(Integer.MAX_VALUE, millis), 0, 0);
        }
    }

    /** The last event is drained. */
    private void finish() {
        KABI.kabi_producer_free(handle);
        ended.countDown();
    }

    void close(Deadline deadline) {
        if (!closing.compareAndSet(false, true)) {
            if (!delivery.isCurrentThread()) {
                awaitUninterruptibly(ended, deadline);
            }
            return;
        }
        boolean fromCallback = delivery.isCurrentThread();
        boolean interrupted = !fromCallback && !deliverAll(deadline);
        // What is not delivered by now is given up.
        staging.discard(true);
        staging.close();
        Deadline teardown = Deadline.in(TEARDOWN_MILLIS);
        interrupted |= awaitUninterruptibly(senderEnded, teardown);
        closeNative(teardown);
        if (!fromCallback) {
            interrupted |= awaitUninterruptibly(ended, teardown);
        }
        if (interrupted) {
            throw new InterruptException("interrupted during the close; what was not delivered was given up");
        }
    }

    /** Until everything is delivered or the time is up; false if the thread is interrupted. */
    private boolean deliverAll(Deadline deadline) {
        staging.wakeSenders();
        try {
            if (inTransaction) {
                // Nobody will commit it: what was sent is given up.
                inTransaction = false;
                staging.discard(true);
                settle(deadline);
                // Without brokers a close must end too: the coordinator aborts what is open after transaction.timeout.ms.
                Deadline abort = Deadline.in(Math.min(maxBlockMillis, deadline.slice(Integer.MAX_VALUE)));
                Blocking.run(abort, slice -> KABI.kabi_producer_transaction_abort(handle, slice, 0));
            }
            flush(deadline);
            return true;
        } catch (InterruptException interrupt) {
            Thread.interrupted();
            return false;
        } catch (KafkaException | IllegalStateException over) {
            // The time is up, or the native client has ended already, by a fault.
            return true;
        }
    }

    private void closeNative(Deadline teardown) {
        int status;
        do {
            // The first call gives up what is not delivered; the others wait for the threads to end.
            status = Blocking.call(slice -> KABI.kabi_producer_close(handle, slice, 0, 0), Blocking.SLICE_MILLIS);
        } while (status == Constants.KABI_STATUS_TIMED_OUT && !teardown.passed());
    }

    /** True if the thread was interrupted meanwhile, whose interrupt status is then set. */
    private static boolean awaitUninterruptibly(CountDownLatch latch, Deadline deadline) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    latch.await(deadline.leftNanos(), TimeUnit.NANOSECONDS);
                    return interrupted;
                } catch (InterruptedException interrupt) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
