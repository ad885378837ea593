package org.kafkabi;

import static org.kafkabi.AdminCore.KABI;

import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.kafkabi.Blocking.Deadline;
import org.kafkabi.errors.InterruptException;

/**
 * Administers a cluster: topics, partitions, configurations, groups and their offsets, ACLs, records, users, leaders.
 *
 * <p>Safe for use by any number of threads. Futures are completed on the admin's event thread: what depends on them
 * should be short, and must not wait for another request. What fails for one topic, group or partition fails its future
 * alone, by a {@link KafkaException}.
 *
 * <p>{@link #request} makes any operation of api/admin.schema.json with maps for documents; the other methods are
 * the same with types.
 */
public final class Admin implements AutoCloseable {
    private final AdminCore core;
    private final Cleaner.Cleanable cleanable;
    private final int timeoutMs;

    /** Keeps the client reachable that this admin is on top of. */
    private final Object host;

    /** Makes an admin with connections of its own. Requests wait up to {@code default.api.timeout.ms}. */
    public Admin(Config config) {
        this(make(config), config.properties().getOrDefault("client.id", ""), config.listeners(),
                (int) Math.min(Integer.MAX_VALUE, config.number("default.api.timeout.ms")), null);
    }

    /** Makes an admin from properties, as {@link Config#of(Map)} takes them. */
    public Admin(Map<String, ?> properties) {
        this(Config.of(properties));
    }

    private Admin(long handle, String name, Listeners listeners, int timeoutMs, Object host) {
        this.core = new AdminCore(handle, name, listeners);
        this.cleanable = Reaper.register(this, core::abandon);
        this.timeoutMs = timeoutMs;
        this.host = host;
    }

    private static long make(Config config) {
        long nativeConfig = config.toNative(AdminCore.EVENTS, Map.of());
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_admin_new(nativeConfig, scratch.out(0), scratch.error()));
            return scratch.longOut(0);
        } finally {
            KABI.kabi_config_free(nativeConfig);
        }
    }

    /** An admin on a producer's connections, which ends with the producer. */
    public static Admin of(Producer producer) {
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_admin_of_producer(producer.handle(), scratch.out(0), scratch.error()));
            return new Admin(scratch.longOut(0), "", Listeners.NONE, 60_000, producer);
        } finally {
            Reference.reachabilityFence(producer);
        }
    }

    /** An admin on a consumer's connections, which ends with the consumer. */
    public static Admin of(Consumer consumer) {
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_admin_of_consumer(consumer.handle(), scratch.out(0), scratch.error()));
            return new Admin(scratch.longOut(0), "", Listeners.NONE, 60_000, consumer);
        } finally {
            Reference.reachabilityFence(consumer);
        }
    }

    // ---- any operation ----

    /**
     * Makes an operation of api/admin.schema.json.
     *
     * @param operation its name, such as "topics_create"
     * @param arguments its arguments: maps, lists, texts, integers, booleans and nulls
     * @param timeout how long the answer may take
     * @return completed with the answer: maps, lists, texts, Longs, booleans and nulls
     * @throws IllegalArgumentException if the arguments are wrong; the message says where
     */
    public CompletableFuture<Map<String, Object>> request(String operation, Map<String, ?> arguments, Duration timeout) {
        long millis = Blocking.millis(timeout);
        return core.request(operation, Json.write(arguments), (int) Math.min(Integer.MAX_VALUE, millis));
    }

    /** As {@link #request(String, Map, Duration)}, with {@code default.api.timeout.ms}. */
    public CompletableFuture<Map<String, Object>> request(String operation, Map<String, ?> arguments) {
        return core.request(operation, Json.write(arguments), timeoutMs);
    }

    /**
     * Waits for a future of this admin's, and throws what it failed by.
     *
     * @throws InterruptException if the thread is interrupted; the request goes on
     */
    public static <T> T await(CompletableFuture<T> future) {
        try {
            return future.get();
        } catch (InterruptedException interrupt) {
            throw new InterruptException("interrupted while waiting for an answer");
        } catch (ExecutionException failure) {
            throw failure.getCause() instanceof RuntimeException cause ? cause : new CompletionException(failure.getCause());
        }
    }

    /** Makes an operation, waits, and gives the answer. */
    public Map<String, Object> call(String operation, Map<String, ?> arguments) {
        return await(request(operation, arguments));
    }

    /** Null, or what a document's "status" tells. */
    static KafkaException failure(Map<String, Object> item) {
        Map<String, Object> status = Documents.map(item, "status");
        int code = ((Number) status.get("code")).intValue();
        return code == 0 ? null : Failures.failure(code, 0, String.valueOf(status.get("text")));
    }

    /** One future for each key: that of its item in the answer's list, or of the whole request's failure. */
    private <K, T> Map<K, CompletableFuture<T>> perItem(Collection<K> keys, CompletableFuture<Map<String, Object>> answer,
            String list, Function<Map<String, Object>, T> reader) {
        Map<K, CompletableFuture<T>> futures = new LinkedHashMap<>();
        int index = 0;
        for (K key : keys) {
            int place = index++;
            futures.put(key, answer.thenApply(document -> {
                Map<String, Object> item = Documents.list(document, list).get(place);
                KafkaException failure = failure(item);
                if (failure != null) {
                    throw failure;
                }
                return reader.apply(item);
            }));
        }
        return futures;
    }

    // ---- topics ----

    /** Creates a topic and waits; -1 stands for the brokers' defaults. */
    public void createTopic(String name, int partitions, int replication) {
        await(createTopics(List.of(new NewTopic(name, partitions, replication))).get(name));
    }

    /** Creates topics. */
    public Map<String, CompletableFuture<Void>> createTopics(Collection<NewTopic> topics) {
        return createTopics(topics, false);
    }

    /** Creates topics, or only has the brokers check whether they could be. */
    public Map<String, CompletableFuture<Void>> createTopics(Collection<NewTopic> topics, boolean validateOnly) {
        List<String> names = topics.stream().map(NewTopic::name).toList();
        return perItem(names, request("topics_create", Map.of(
                "topics", topics.stream().map(NewTopic::document).toList(), "validate_only", validateOnly)),
                "topics", item -> null);
    }

    /** Deletes a topic and all that is in it, and waits. */
    public void deleteTopic(String name) {
        await(deleteTopics(List.of(name)).get(name));
    }

    /** Deletes topics and all that is in them. */
    public Map<String, CompletableFuture<Void>> deleteTopics(Collection<String> names) {
        List<String> list = List.copyOf(names);
        return perItem(list, request("topics_delete", Map.of("topics", list)), "topics", item -> null);
    }

    /** Gives topics more partitions: how many each is to have in all. */
    public Map<String, CompletableFuture<Void>> createPartitions(Map<String, Integer> totals) {
        List<Map<String, Object>> topics = new ArrayList<>();
        totals.forEach((topic, total) -> topics.add(Map.of("topic", topic, "total", total)));
        return perItem(totals.keySet(), request("partitions_create", Map.of("topics", topics)), "topics", item -> null);
    }

    /** Describes topics. */
    public Map<String, CompletableFuture<TopicDescription>> describeTopics(Collection<String> names) {
        List<String> list = List.copyOf(names);
        return perItem(list, request("topics_describe", Map.of("topics", list)), "topics", TopicDescription::of);
    }

    /** The names of all topics. */
    public CompletableFuture<List<String>> listTopics() {
        return request("metadata", Map.of()).thenApply(answer -> Documents.list(answer, "topics").stream()
                .map(topic -> (String) topic.get("topic")).collect(Collectors.toList()));
    }

    // ---- the cluster ----

    /** The cluster's id, its brokers and its controller. */
    public CompletableFuture<ClusterDescription> describeCluster() {
        return request("cluster_describe", Map.of()).thenApply(ClusterDescription::of);
    }

    // ---- the end ----

    /** The native client's and kafkabi's figures as a JSON document (api/metrics.schema.json has its shape). */
    public String metrics() {
        core.checkOpen();
        return Texts.read((buffer, size, length, error) ->
                KABI.kabi_admin_metrics(core.handle, buffer, size, length, error));
    }

    /** The client that this admin is on top of, or null. */
    public Object host() {
        return host;
    }

    /** As {@link #close(Duration)} with 30 seconds. */
    @Override
    public void close() {
        close(Duration.ofSeconds(30));
    }

    /** Waits until requests under way are answered, but no longer than this; the rest fails. */
    public void close(Duration timeout) {
        try {
            core.close(Deadline.in(timeout));
        } finally {
            cleanable.clean();
        }
    }
}
