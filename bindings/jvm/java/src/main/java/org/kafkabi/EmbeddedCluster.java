package org.kafkabi;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Collectors;
import org.kafkabi.lowlevel.Constants;
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
    public static final int ALL_BROKERS = Constants.KABI_BROKER_ALL;

    /** No broker, for {@link #leader} and {@link #follower}. */
    public static final int NO_BROKER = Constants.KABI_BROKER_NONE;

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

    /** How many errors of {@link #injectBrokerErrors} no request has used up yet, at one broker or at all together. */
    public long brokerErrorsLeft(int broker, int request) {
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_cluster_broker_errors_left(handle, broker, request, scratch.out(0), scratch.error()));
            return scratch.longOut(0);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /**
     * Lets all brokers understand only some versions of a request, as older brokers would; -1 and -1 take the request
     * away. For clients that connect after this.
     */
    public EmbeddedCluster apiVersions(int request, int min, int max) {
        return call(error -> KABI.kabi_cluster_api_versions(handle, request, min, max, error));
    }

    // ---- brokers ----

    /** Adds a broker with an id of 1 to 10,000; copies and leaders of all partitions are spread anew. */
    public EmbeddedCluster addBroker(int broker) {
        return call(error -> KABI.kabi_cluster_broker_add(handle, broker, error));
    }

    /** Removes a broker for good; records are kept. One of those that {@link #bootstrapServers} names has to stay. */
    public EmbeddedCluster removeBroker(int broker) {
        return call(error -> KABI.kabi_cluster_broker_remove(handle, broker, error));
    }

    /** Chooses the address at which a broker says that it is, as behind a proxy. It stays where it is. */
    public EmbeddedCluster brokerAddress(int broker, String host, int port) {
        return named(host, (text, error) -> KABI.kabi_cluster_broker_address(handle, broker, text, port, error));
    }

    /** Gives a broker a rack, which clients are told with the metadata that they ask for next. */
    public EmbeddedCluster rack(int broker, String rack) {
        return named(rack, (text, error) -> KABI.kabi_cluster_rack(handle, broker, text, error));
    }

    /**
     * Lets brokers ask clients for metrics (KIP-714). What comes is only counted, as requests of the kind
     * KABI_REQUEST_PUSH_TELEMETRY. Once for each cluster, for clients that connect after this.
     *
     * @param metrics beginnings of metric names, of which "" stands for all
     * @param interval how often clients send them
     */
    public EmbeddedCluster telemetry(List<String> metrics, Duration interval) {
        List<ByteBuffer> texts = metrics.stream().map(Memory::text).toList();
        ByteBuffer addresses = Memory.allocate(Math.max(1, texts.size()) * Long.BYTES);
        for (int i = 0; i < texts.size(); i++) {
            addresses.putLong(i * Long.BYTES, Memory.address(texts.get(i)));
        }
        try {
            return call(error -> KABI.kabi_cluster_telemetry(
                    handle, Memory.address(addresses), texts.size(), millis(interval), error));
        } finally {
            Reference.reachabilityFence(texts);
            Reference.reachabilityFence(addresses);
        }
    }

    // ---- leaders, followers, coordinators ----

    /** Makes a broker the leader of a partition. */
    public EmbeddedCluster leader(String topic, int partition, int broker) {
        return named(topic, (text, error) -> KABI.kabi_cluster_leader(handle, text, partition, broker, error));
    }

    /** Makes the next answer about the leader of a partition name this broker and epoch, as stale metadata does. */
    public EmbeddedCluster leaderAnswer(String topic, int partition, int broker, int leaderEpoch) {
        return named(topic, (text, error) ->
                KABI.kabi_cluster_leader_answer(handle, text, partition, broker, leaderEpoch, error));
    }

    /** Makes a broker the follower that consumers of a partition are sent to; {@link #NO_BROKER} ends that. */
    public EmbeddedCluster follower(String topic, int partition, int broker) {
        return named(topic, (text, error) -> KABI.kabi_cluster_follower(handle, text, partition, broker, error));
    }

    /** Lets the follower of a partition have only the records of these offsets; -1 stands for what the leader has. */
    public EmbeddedCluster followerWatermarks(String topic, int partition, long low, long high) {
        return named(topic, (text, error) ->
                KABI.kabi_cluster_follower_watermarks(handle, text, partition, low, high, error));
    }

    /** Makes a broker the coordinator of a group. */
    public EmbeddedCluster groupCoordinator(String group, int broker) {
        return named(group, (text, error) -> KABI.kabi_cluster_coordinator(
                handle, Constants.KABI_COORDINATOR_GROUP, text, broker, error));
    }

    /** Makes a broker the coordinator of a transactional id. */
    public EmbeddedCluster transactionCoordinator(String transactionalId, int broker) {
        return named(transactionalId, (text, error) -> KABI.kabi_cluster_coordinator(
                handle, Constants.KABI_COORDINATOR_TRANSACTION, text, broker, error));
    }

    // ---- groups ----

    /** Makes new groups of the classic protocol wait so long for further members before their first assignment. */
    public EmbeddedCluster groupDelay(Duration delay) {
        return call(error -> KABI.kabi_cluster_group_delay(handle, millis(delay), error));
    }

    /** Sets after what time without a sign of life members of group.protocol=consumer are out, and how often they give one. */
    public EmbeddedCluster groupTiming(Duration sessionTimeout, Duration heartbeatInterval) {
        return call(error -> KABI.kabi_cluster_group_timing(handle, millis(sessionTimeout), millis(heartbeatInterval), error));
    }

    /**
     * Chooses what each member of a group of group.protocol=consumer is to be assigned, by member id; null lets the
     * cluster assign by itself again. Members that are not named keep what they have.
     */
    public EmbeddedCluster groupTarget(String group, Map<String, ? extends Collection<TopicPartition>> target) {
        ByteBuffer json = target == null ? null : Memory.text(Json.write(byTopic(target)));
        try {
            return named(group, (text, error) ->
                    KABI.kabi_cluster_group_target(handle, text, json == null ? 0 : Memory.address(json), error));
        } finally {
            Reference.reachabilityFence(json);
        }
    }

    private static Map<String, Map<String, List<Integer>>> byTopic(Map<String, ? extends Collection<TopicPartition>> target) {
        Map<String, Map<String, List<Integer>>> members = new HashMap<>();
        target.forEach((member, partitions) -> members.put(member, partitions.stream().collect(Collectors.groupingBy(
                TopicPartition::topic, Collectors.mapping(TopicPartition::partition, Collectors.toList())))));
        return members;
    }

    // ---- what it holds, and what it was asked ----

    /** Starts keeping a list of all requests that the brokers get, or ends that. Both empty the list. */
    public EmbeddedCluster trackRequests(boolean on) {
        return call(error -> KABI.kabi_cluster_track_requests(handle, on ? 1 : 0, error));
    }

    /** The requests that came since {@link #trackRequests}, the oldest first. */
    public List<TrackedRequest> requests() {
        try {
            return EmbeddedContents.requests(handle);
        } finally {
            Reference.reachabilityFence(this);
        }
    }

    /** All records of a partition; groups and their offsets are left alone. Waits up to 30 seconds. */
    public List<Record> records(String topic, int partition) {
        return records(new TopicPartition(topic, partition), Duration.ofSeconds(30));
    }

    /** As {@link #records(String, int)}, waiting up to this long for the end of the partition. */
    public List<Record> records(TopicPartition partition, Duration timeout) {
        try {
            return EmbeddedContents.records(handle, partition, timeout);
        } finally {
            Reference.reachabilityFence(this);
        }
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

    private static int millis(Duration duration) {
        return (int) Math.max(Integer.MIN_VALUE, Math.min(Integer.MAX_VALUE, duration.toMillis()));
    }

    private EmbeddedCluster call(Call call) {
        try (Scratch scratch = Scratch.take()) {
            scratch.check(call.make(scratch.error()));
        } finally {
            Reference.reachabilityFence(this);
        }
        return this;
    }

    private EmbeddedCluster named(String name, NamedCall call) {
        ByteBuffer text = Memory.text(name);
        try (Scratch scratch = Scratch.take()) {
            scratch.check(call.make(Memory.address(text), scratch.error()));
        } finally {
            Reference.reachabilityFence(text);
            Reference.reachabilityFence(this);
        }
        return this;
    }
}
