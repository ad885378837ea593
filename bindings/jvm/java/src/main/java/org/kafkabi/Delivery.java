package org.kafkabi;

import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Functions;
import org.kafkabi.lowlevel.Kabi;
import org.kafkabi.lowlevel.Layouts.Event;

/** A producer's thread of events: it completes the futures and calls the callbacks of sent records. */
final class Delivery extends EventPump {
    /** In place of a callback: nobody wants to know. */
    static final Object NOBODY = new Object();

    private static final Functions KABI = Kabi.functions();
    private static final int CHUNK = 2048;

    private final long producer;
    private final Staging staging;
    private final TopicNumbers topics;
    private final Runnable atEnd;

    private final int[] slots = new int[CHUNK];
    private final Object[] pending = new Object[CHUNK];
    private final int[] topicOf = new int[CHUNK];
    private final Staging.Epoch[] epochs = new Staging.Epoch[CHUNK];

    Delivery(long producer, String name, Listeners listeners, Staging staging, TopicNumbers topics, Runnable atEnd) {
        super("producer", name, listeners);
        this.producer = producer;
        this.staging = staging;
        this.topics = topics;
        this.atEnd = atEnd;
    }

    @Override
    int drain(int timeoutMs, long events, long capacity, long count, long bytes, long size, long used, long error) {
        return KABI.kabi_producer_drain(producer, timeoutMs, events, capacity, count, bytes, size, used, error);
    }

    @Override
    void answerToken(TokenProvider provider, String config) {
        Tokens.answer(provider, config,
                (token, expires, principal, extensions, error) ->
                        KABI.kabi_producer_token_set(producer, token, expires, principal, extensions, error),
                (why, error) -> KABI.kabi_producer_token_failure(producer, why, error), logger);
    }

    @Override
    void reports(ByteBuffer events, int from, int count) {
        for (int done = 0; done < count; done += CHUNK) {
            reportChunk(events, from + done, Math.min(CHUNK, count - done));
        }
    }

    private void reportChunk(ByteBuffer events, int from, int count) {
        for (int i = 0; i < count; i++) {
            slots[i] = (int) events.getLong((from + i) * Event.BYTES + Event.TOKEN);
        }
        staging.look(slots, count, pending, topicOf, epochs);
        for (int i = 0; i < count; i++) {
            Object told = pending[i];
            pending[i] = null;
            int at = (from + i) * Event.BYTES;
            int code = events.getInt(at + Event.CODE);
            if (code == Constants.KABI_STATUS_OK) {
                if (told != NOBODY) {
                    complete(told, metadata(events, at, topicOf[i]), null);
                }
            } else {
                complete(told, metadata(events, at, topicOf[i]),
                        Failures.failure(code, events.getInt(at + Event.FLAGS)));
            }
        }
        staging.complete(epochs, count);
    }

    private RecordMetadata metadata(ByteBuffer events, int at, int topic) {
        long offset = events.getLong(at + Event.OFFSET);
        return new RecordMetadata(topics.name(topic), events.getInt(at + Event.PARTITION), offset < 0 ? -1 : offset,
                events.getLong(at + Event.TIMESTAMP));
    }

    /** Records that the native client never took. */
    @Override
    void beforeDrain() {
        List<Staging.Failure> failures = staging.takeFailures();
        for (Staging.Failure failure : failures) {
            slots[0] = failure.slot();
            staging.look(slots, 1, pending, topicOf, epochs);
            Object told = pending[0];
            pending[0] = null;
            complete(told, new RecordMetadata(topics.name(topicOf[0]), Math.max(-1, failure.partition()), -1, -1),
                    failure.exception());
            staging.complete(epochs, 1);
        }
    }

    @SuppressWarnings("unchecked")
    private void complete(Object told, RecordMetadata metadata, KafkaException failure) {
        try {
            if (told instanceof DeliveryCallback callback) {
                callback.onCompletion(metadata, failure);
            } else if (told instanceof CompletableFuture<?> future) {
                if (failure == null) {
                    ((CompletableFuture<RecordMetadata>) future).complete(metadata);
                } else {
                    future.completeExceptionally(failure);
                }
            }
        } catch (RuntimeException | Error thrown) {
            logger.log(Level.ERROR, "a delivery callback threw an exception", thrown);
        }
    }

    /** Records that there is no report of fail too, so that nobody waits for ever. */
    @Override
    void ended() {
        try {
            KafkaException failure = Failures.failure(Constants.KABI_STATUS_CLOSED, KafkaException.OUTCOME_UNKNOWN);
            staging.breakDown(failure);
            for (Staging.Left left : staging.takeLeft()) {
                complete(left.pending(), new RecordMetadata(topics.name(left.topic()), -1, -1, -1), failure);
                staging.complete(new Staging.Epoch[] {left.epoch()}, 1);
            }
        } finally {
            atEnd.run();
        }
    }
}
