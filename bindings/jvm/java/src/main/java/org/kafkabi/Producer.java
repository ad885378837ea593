package org.kafkabi;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import org.kafkabi.Blocking.Deadline;

/**
 * Sends records. Safe for use by any number of threads; one producer for a whole program is usual.
 *
 * <p><b>Order.</b> Of two records for one partition, the one whose {@code send} returned before the other's began is
 * written first, on whichever threads they were sent.
 *
 * <p><b>Outcome.</b> Each record that {@code send} took completes exactly one future, or calls one callback, on the
 * producer's delivery thread. What depends on a future runs there too, unless it asks for another thread: it should be
 * short, and must not flush, close with a wait, or wait for other deliveries.
 *
 * <p><b>Back-pressure.</b> With the producer's memory full, {@code send} waits up to {@code max.block.ms}, then throws
 * {@link org.kafkabi.errors.BufferExhaustedException}.
 *
 * <p>Without configuration it is idempotent and waits for all in-sync replicas. {@link #close()} waits until everything
 * is delivered or has failed.
 */
public final class Producer implements AutoCloseable {
    private final ProducerCore core;
    private final Cleaner.Cleanable cleanable;
    private final Transactions transactions;

    /** Makes a producer. It connects in the background. */
    public Producer(Config config) {
        core = new ProducerCore(config);
        cleanable = Reaper.register(this, core::abandon);
        transactions = new Transactions(this, core);
    }

    /** Makes a producer from properties, as {@link Config#of(Map)} takes them. */
    public Producer(Map<String, ?> properties) {
        this(Config.of(properties));
    }

    /**
     * Sends a record.
     *
     * @return completed with where the record went, or by a {@link KafkaException}
     * @throws org.kafkabi.errors.BufferExhaustedException if there was no room for max.block.ms; the record was not taken
     * @throws org.kafkabi.errors.InterruptException if the thread is interrupted while it waits for room
     * @throws IllegalStateException if the producer is closed, or is transactional and no transaction is open
     */
    public CompletableFuture<RecordMetadata> send(Record record) {
        CompletableFuture<RecordMetadata> future = new CompletableFuture<>();
        send(record, future);
        return future;
    }

    /** Sends a record and calls the callback when it is delivered or has failed; null if nobody wants to know. */
    public void send(Record record, DeliveryCallback callback) {
        send(record, callback == null ? Delivery.NOBODY : callback);
    }

    /** Sends a record of a topic, a key and a value, both of which may be null, as {@link #send(Record, DeliveryCallback)}. */
    public void send(String topic, byte[] key, byte[] value, DeliveryCallback callback) {
        send(topic, Record.ANY_PARTITION, key, value, List.of(), -1, callback == null ? Delivery.NOBODY : callback);
    }

    private void send(Record record, Object pending) {
        Objects.requireNonNull(record, "the record is null");
        int partition = record.received() ? Record.ANY_PARTITION : record.partition();
        send(record.topic(), partition, record.key(), record.value(), record.headers(), record.timestamp(), pending);
    }

    private void send(String topic, int partition, byte[] key, byte[] value, List<Header> headers, long timestamp,
            Object pending) {
        try {
            core.checkOpen();
            int number = core.topics.number(topic);
            core.send(number, new PackedRecord(partition, key, value, headers, timestamp), pending);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Waits until every record sent before is delivered or has failed, and its future or callback has been told.
     *
     * @throws IllegalStateException if it is called from a delivery callback
     */
    public void flush() {
        flush(Duration.ofMillis(Long.MAX_VALUE));
    }

    /** As {@link #flush()}, but throws {@link org.kafkabi.errors.TimeoutException} if it takes longer. */
    public void flush(Duration timeout) {
        try {
            core.checkOpen();
            core.flush(Deadline.in(timeout));
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** How many records were sent and have no outcome yet. */
    public int outstanding() {
        return core.staging.outstanding();
    }

    /** The native client's and kafkabi's figures as a JSON document (api/metrics.schema.json has its shape). */
    public String metrics() {
        core.checkOpen();
        return Texts.read((buffer, size, length, error) ->
                ProducerCore.KABI.kabi_producer_metrics(core.handle, buffer, size, length, error));
    }

    /** The producer's transactions; it must have a {@code transactional.id}. */
    public Transactions transactions() {
        return transactions;
    }

    /**
     * Gives the client another user name and password, for SASL's PLAIN and SCRAM. Connections made from now on use them;
     * those that stand are left alone. Whether brokers accept them is told by {@link Config#onError}.
     */
    public void setCredentials(String username, String password) {
        core.checkOpen();
        Credentials.set(username, password, (user, secret, error) ->
                ProducerCore.KABI.kabi_producer_credentials_set(core.handle, user, secret, error));
    }

    long handle() {
        return core.handle;
    }

    /**
     * Closes when everything is delivered or has failed. An open transaction is aborted, which is waited for up to
     * {@code max.block.ms}: the coordinator aborts it by itself after {@code transaction.timeout.ms}.
     */
    @Override
    public void close() {
        close(Duration.ofMillis(Long.MAX_VALUE));
    }

    /**
     * Closes: waits until everything is delivered or has failed, but no longer than this; the rest fails. The end
     * of the client's threads, which takes some milliseconds, is waited for up to 30 seconds more. From a delivery callback
     * it does not wait. A second close waits for the first one.
     */
    public void close(Duration timeout) {
        try {
            core.close(Deadline.in(timeout));
        } finally {
            cleanable.clean();
        }
    }
}
