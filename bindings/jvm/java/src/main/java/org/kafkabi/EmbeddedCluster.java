package org.kafkabi;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import org.kafkabi.lowlevel.Functions;
import org.kafkabi.lowlevel.Kabi;
import org.kafkabi.lowlevel.Memory;

/**
 * A Kafka cluster inside this process, for demonstrations and tests: brokers on ports of 127.0.0.1 that the system
 * chooses. Clients that are built on librdkafka can use it, also those of other processes; Apache's Java clients can't.
 *
 * <p>It keeps up to 5 MiB a partition, creates topics of 4 partitions that clients ask for, and carries out no
 * transactions: aborted records are read. Safe for use by several threads.
 */
public final class EmbeddedCluster implements AutoCloseable {
    /** All brokers, for the functions that take one. */
    public static final int ALL_BROKERS = -1;

    private static final Functions KABI = Kabi.functions();

    private final long handle;
    private final Life life;
    private final Cleaner.Cleanable cleanable;
    private final String bootstrapServers;

    /** Starts one broker. */
    public static EmbeddedCluster start() {
        return start(1);
    }

    /** Starts 1 to 100 brokers, with the ids 1, 2, 3, ... */
    public static EmbeddedCluster start(int brokers) {
        return new EmbeddedCluster(brokers);
    }

    private EmbeddedCluster(int brokers) {
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_cluster_new(brokers, scratch.out(0), scratch.error()));
            handle = scratch.longOut(0);
        }
        life = new Life(handle);
        cleanable = Reaper.register(this, life::abandon);
        bootstrapServers = Texts.read(
                (buffer, size, length, error) -> KABI.kabi_cluster_bootstrap(handle, buffer, size, length, error));
    }

    /** The brokers end once: by the close, or, if there was none, on a thread for it, as that takes its time. */
    private static final class Life {
        private final long handle;
        private final AtomicBoolean ended = new AtomicBoolean();

        Life(long handle) {
            this.handle = handle;
        }

        void end() {
            if (ended.compareAndSet(false, true)) {
                KABI.kabi_cluster_free(handle);
            }
        }

        void abandon() {
            if (!ended.get()) {
                Thread thread = new Thread(() -> {
                    end();
                    Kabi.leave();
                }, "kafkabi-cluster-end");
                thread.setDaemon(true);
                Kabi.enter();
                thread.start();
            }
        }
    }

    /** The brokers' addresses, for the property bootstrap.servers. */
    public String bootstrapServers() {
        return bootstrapServers;
    }

    /** A configuration with the cluster's addresses. */
    public Config config() {
        return Config.of(bootstrapServers);
    }

    /** Creates a topic, with one copy of each partition. */
    public EmbeddedCluster createTopic(String name, int partitions) {
        return createTopic(name, partitions, 1);
    }

    /** Creates a topic of 1 to 10,000 partitions, each with 1 to as many copies as there are brokers. */
    public EmbeddedCluster createTopic(String name, int partitions, int replication) {
        return named(name, (text, error) -> KABI.kabi_cluster_topic_create(handle, text, partitions, replication, error));
    }

    /** Makes a broker close its connections and refuse new ones. */
    public EmbeddedCluster brokerDown(int broker) {
        return call(error -> KABI.kabi_cluster_broker_down(handle, broker, error));
    }

    /** Makes a broker take connections again. */
    public EmbeddedCluster brokerUp(int broker) {
        return call(error -> KABI.kabi_cluster_broker_up(handle, broker, error));
    }

    /** Makes a broker hold each of its answers back for so long. */
    public EmbeddedCluster latency(int broker, int millis) {
        return call(error -> KABI.kabi_cluster_latency(handle, broker, millis, error));
    }

    /**
     * Makes the next requests of one kind fail.
     *
     * @param request a KABI_REQUEST_* number of {@link org.kafkabi.lowlevel.Constants}
     * @param code a KABI_STATUS_* number that brokers answer with; KABI_STATUS_TRANSPORT closes the connection
     * @param count how many requests
     */
    public EmbeddedCluster injectErrors(int request, int code, int count) {
        return call(error -> KABI.kabi_cluster_inject_errors(handle, request, code, count, error));
    }

    /** As {@link #injectErrors}, for the requests that reach one broker, and with a delay of each answer. */
    public EmbeddedCluster injectBrokerErrors(int broker, int request, int code, int delayMillis, int count) {
        return call(error ->
                KABI.kabi_cluster_inject_broker_errors(handle, broker, request, code, delayMillis, count, error));
    }

    /** Takes back the errors of {@link #injectErrors} that are not used up. */
    public EmbeddedCluster clearErrors(int request) {
        return call(error -> KABI.kabi_cluster_clear_errors(handle, request, error));
    }

    /** Makes the cluster tell this code to whoever asks for the topic's metadata; 0 ends that. */
    public EmbeddedCluster topicError(String topic, int code) {
        return named(topic, (text, error) -> KABI.kabi_cluster_topic_error(handle, text, code, error));
    }

    /** Makes a broker the leader of a partition. */
    public EmbeddedCluster leader(String topic, int partition, int broker) {
        return named(topic, (text, error) -> KABI.kabi_cluster_leader(handle, text, partition, broker, error));
    }

    /** Makes a broker the coordinator of a group. */
    public EmbeddedCluster groupCoordinator(String group, int broker) {
        return named(group, (text, error) -> KABI.kabi_cluster_coordinator(handle, 0, text, broker, error));
    }

    /** Makes a broker the coordinator of a transactional id. */
    public EmbeddedCluster transactionCoordinator(String transactionalId, int broker) {
        return named(transactionalId, (text, error) -> KABI.kabi_cluster_coordinator(handle, 1, text, broker, error));
    }

    /** Stops the brokers; what the cluster holds is gone. Clients that use it lose their connections. */
    @Override
    public void close() {
        life.end();
        cleanable.clean();
    }

    @FunctionalInterface
    private interface Call {
        int make(long error);
    }

    @FunctionalInterface
    private interface NamedCall {
        int make(long text, long error);
    }

    private EmbeddedCluster call(Call call) {
        try (Scratch scratch = Scratch.take()) {
            scratch.check(call.make(scratch.error()));
        }
        return this;
    }

    private EmbeddedCluster named(String name, NamedCall call) {
        ByteBuffer text = Memory.text(name);
        try (Scratch scratch = Scratch.take()) {
            scratch.check(call.make(Memory.address(text), scratch.error()));
        } finally {
            Reference.reachabilityFence(text);
        }
        return this;
    }
}
