package org.kafkabi;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Functions;
import org.kafkabi.lowlevel.Kabi;
import org.kafkabi.lowlevel.Layouts.Packed;
import org.kafkabi.lowlevel.Memory;

/**
 * The thread that takes staged records into the native client, a buffer in a crossing. What a crossing could not take,
 * because the native queue was full, goes first in the next one, before any newer record.
 */
final class Sender implements Runnable {
    private static final Functions KABI = Kabi.functions();
    private static final Logger LOGGER = System.getLogger("org.kafkabi.producer");

    private final long producer;
    private final Staging staging;
    private final long deliveryNanos;
    private final Thread thread;
    private final Runnable atEnd;
    private ByteBuffer statuses = Memory.allocate(4 * Staging.CAPACITY / Packed.BYTES);

    /** What comes of a stage; at the first record that can be resumed it stops. */
    private int resumeAt;
    private int resumeIndex;

    /**
     * @param deliveryNanos after how long a record that the native client has no room for fails; 0 for never
     * @param atEnd run by the thread when it has taken the last record
     */
    Sender(long producer, String name, Staging staging, long deliveryNanos, Runnable atEnd) {
        this.producer = producer;
        this.staging = staging;
        this.deliveryNanos = deliveryNanos;
        this.atEnd = atEnd;
        this.thread = new Thread(this, "kafkabi-producer-sender" + (name.isEmpty() ? "" : "-" + name));
        thread.setDaemon(true);
    }

    void start() {
        Kabi.start(thread);
    }

    @Override
    public void run() {
        try (Scratch scratch = Scratch.take()) {
            while (true) {
                Staging.Stage stage = staging.take();
                if (stage == null) {
                    return;
                }
                cross(stage, scratch);
                staging.give(stage);
            }
        } catch (InterruptedException | RuntimeException | Error fault) {
            breakDown(fault);
        } finally {
            try {
                atEnd.run();
            } finally {
                Kabi.leave();
            }
        }
    }

    /** Nobody takes records across any more. The native client is closed, so that all that were sent get an outcome. */
    private void breakDown(Throwable fault) {
        try {
            staging.breakDown(new KafkaException("the thread that sends has ended by a fault",
                    Constants.KABI_STATUS_CLOSED, KafkaException.OUTCOME_UNKNOWN, fault));
            LOGGER.log(Level.ERROR, "the thread that sends ends by a fault: the producer is of no more use", fault);
        } finally {
            KABI.kabi_producer_close(producer, 0, 0, 0);
        }
    }

    private void cross(Staging.Stage stage, Scratch scratch) {
        long began = System.nanoTime();
        int at = 0;
        int index = 0;
        while (index < stage.count) {
            if (staging.isDiscarding()) {
                failRest(stage, at, index, Constants.KABI_STATUS_PURGE_QUEUE, 0);
                return;
            }
            int status = send(stage, at, stage.count - index, scratch);
            if (status == Constants.KABI_STATUS_OK) {
                return;
            }
            int left = stage.count - index;
            resumeAt = at;
            resumeIndex = 0;
            readStatuses(stage, left, status, scratch);
            at = resumeAt;
            index += resumeIndex;
            if (index < stage.count && deliveryNanos > 0 && System.nanoTime() - began > deliveryNanos) {
                failRest(stage, at, index, Constants.KABI_STATUS_MSG_TIMED_OUT, KafkaException.RETRIABLE);
                return;
            }
        }
    }

    private int send(Staging.Stage stage, int at, int count, Scratch scratch) {
        if (4 * count > statuses.capacity()) {
            statuses = Memory.allocate(8 * count);
        }
        int status = KABI.kabi_producer_send_packed(producer, stage.address + at, stage.bytes - at, count,
                Constants.KABI_TOPIC_RECORD, Constants.KABI_PARTITION_RECORD, Blocking.SLICE_MILLIS,
                Memory.address(statuses), scratch.out(0), scratch.error());
        Reference.reachabilityFence(stage);
        Reference.reachabilityFence(statuses);
        return status;
    }

    /** Fails the records that are broken, and stops at the first that is to be sent again. */
    private void readStatuses(Staging.Stage stage, int count, int callStatus, Scratch scratch) {
        List<Staging.Failure> failed = new ArrayList<>();
        boolean closed = callStatus == Constants.KABI_STATUS_CLOSED || callStatus == Constants.KABI_STATUS_HANDLE;
        String message = scratch.message();
        int flags = scratch.flags();
        int index = 0;
        for (; index < count; index++) {
            int status = closed ? Constants.KABI_STATUS_PURGE_QUEUE : statuses.getInt(4 * index);
            if (status == Constants.KABI_STATUS_QUEUE_FULL || status == Constants.KABI_STATUS_INTERRUPTED
                    || status == Constants.KABI_STATUS_TIMED_OUT) {
                break;
            }
            if (status != Constants.KABI_STATUS_OK) {
                // The message is about the first record that failed; it names the record by its index.
                boolean told = status == callStatus && failed.isEmpty();
                failed.add(failure(stage, resumeAt, told
                        ? Failures.failure(status, flags, withoutIndex(message))
                        : Failures.failure(status, 0)));
            }
            resumeAt += stage.buffer.getInt(resumeAt + Packed.SIZE);
        }
        resumeIndex = index;
        fail(failed);
    }

    private static String withoutIndex(String message) {
        return message.replaceFirst("^(?:record|entry|message) \\d+: ", "");
    }

    private void failRest(Staging.Stage stage, int at, int index, int status, int flags) {
        List<Staging.Failure> failed = new ArrayList<>();
        int position = at;
        for (int i = index; i < stage.count; i++) {
            failed.add(failure(stage, position, Failures.failure(status, flags)));
            position += stage.buffer.getInt(position + Packed.SIZE);
        }
        fail(failed);
    }

    private static Staging.Failure failure(Staging.Stage stage, int at, KafkaException exception) {
        return new Staging.Failure(
                (int) stage.buffer.getLong(at + Packed.TOKEN), stage.buffer.getInt(at + Packed.PARTITION), exception);
    }

    private void fail(List<Staging.Failure> failed) {
        if (!failed.isEmpty()) {
            staging.fail(failed);
            KABI.kabi_producer_wake(producer, 0);
        }
    }
}
