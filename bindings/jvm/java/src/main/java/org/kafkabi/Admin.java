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
import java.util.Set;
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
 * alone, by a {@link KafkaException}. Requests under way keep their admin, also if the program has forgotten it.
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

    /** Keeps the admin reachable that this is a view of. */
    private final Admin whole;

    /** Makes an admin with connections of its own. Requests wait up to {@code default.api.timeout.ms}. */
    public Admin(Config config) {
        this(make(config), config.properties().getOrDefault("client.id", ""), config.listeners(),
                (int) Math.min(Integer.MAX_VALUE, config.number("default.api.timeout.ms")), null);
    }

    /** Makes an admin from properties, as {@link Config#of(Map)} takes them. */
    public Admin(Map<String, ?> properties) {
        this(Config.of(properties));
    }

    private Admin(Admin other, int timeoutMs) {
        this.core = other.core;
        this.cleanable = other.cleanable;
        this.timeoutMs = timeoutMs;
        this.host = other.host;
        this.whole = other;
    }

    private Admin(long handle, String name, Listeners listeners, int timeoutMs, Object host) {
        this.whole = null;
        this.core = core(handle, name, listeners);
        this.cleanable = Reaper.register(this, core::abandon);
        this.timeoutMs = timeoutMs;
        this.host = host;
    }

    private static AdminCore core(long handle, String name, Listeners listeners) {
        try {
            return new AdminCore(handle, name, listeners);
        } catch (Throwable failure) {
            // No memory or no thread for it: nobody else would free the native client.
            KABI.kabi_admin_free(handle);
            throw failure;
        }
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

    /** The same admin, whose requests wait up to so long for their answers. Closing either closes both. */
    public Admin within(Duration timeout) {
        return new Admin(this, (int) Math.min(Integer.MAX_VALUE, Blocking.millis(timeout)));
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
        return core.request(this, operation, Json.write(arguments), (int) Math.min(Integer.MAX_VALUE, millis));
    }

    /** As {@link #request(String, Map, Duration)}, with {@code default.api.timeout.ms}. */
    public CompletableFuture<Map<String, Object>> request(String operation, Map<String, ?> arguments) {
        return core.request(this, operation, Json.write(arguments), timeoutMs);
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
        Map<String, NewTopic> named = Items.byName(topics, NewTopic::name);
        return forTopics(named.keySet(), "topics_create", Map.of(
                "topics", named.values().stream().map(NewTopic::document).toList(), "validate_only", validateOnly));
    }

    /** Deletes a topic and all that is in it, and waits. */
    public void deleteTopic(String name) {
        await(deleteTopics(List.of(name)).get(name));
    }

    /** Deletes topics and all that is in them. */
    public Map<String, CompletableFuture<Void>> deleteTopics(Collection<String> names) {
        Set<String> topics = Items.distinct(names);
        return forTopics(topics, "topics_delete", Map.of("topics", topics));
    }

    /** Gives topics more partitions: how many each is to have in all. */
    public Map<String, CompletableFuture<Void>> createPartitions(Map<String, Integer> totals) {
        return createPartitions(
                totals.entrySet().stream().map(topic -> new NewPartitions(topic.getKey(), topic.getValue())).toList(), false);
    }

    /** Gives topics more partitions, or only has the brokers check whether they could get them. */
    public Map<String, CompletableFuture<Void>> createPartitions(
            Collection<NewPartitions> partitions, boolean validateOnly) {
        Map<String, NewPartitions> named = Items.byName(partitions, NewPartitions::topic);
        return forTopics(named.keySet(), "partitions_create", Map.of(
                "topics", named.values().stream().map(NewPartitions::document).toList(), "validate_only", validateOnly));
    }

    private Map<String, CompletableFuture<Void>> forTopics(Set<String> names, String operation, Map<String, ?> arguments) {
        return perItem(names, operation, arguments, "topics", item -> Documents.text(item, "topic"), Items::nothing);
    }

    /** Describes topics. */
    public Map<String, CompletableFuture<TopicDescription>> describeTopics(Collection<String> names) {
        return describeTopics(names, false);
    }

    /** Describes topics, and tells what this client may do with them if that is asked for. */
    public Map<String, CompletableFuture<TopicDescription>> describeTopics(
            Collection<String> names, boolean authorizedOperations) {
        Set<String> topics = Items.distinct(names);
        return perItem(topics, "topics_describe", Map.of("topics", topics, "authorized_operations", authorizedOperations),
                "topics", item -> Documents.text(item, "topic"), TopicDescription::of);
    }

    /** The names of all topics. */
    public CompletableFuture<List<String>> listTopics() {
        return metadata().thenApply(metadata -> List.copyOf(metadata.topics().keySet()));
    }

    // ---- the cluster ----

    /** The cluster's id, its brokers and its controller. */
    public CompletableFuture<ClusterDescription> describeCluster() {
        return describeCluster(false);
    }

    /** As {@link #describeCluster()}, with what this client may do with the cluster if that is asked for. */
    public CompletableFuture<ClusterDescription> describeCluster(boolean authorizedOperations) {
        return request("cluster_describe", Map.of("authorized_operations", authorizedOperations))
                .thenApply(ClusterDescription::of);
    }

    /** The brokers, and all topics that this client may see. */
    public CompletableFuture<ClusterMetadata> metadata() {
        return request("metadata", Map.of()).thenApply(ClusterMetadata::of);
    }

    /** The brokers, and these topics. Asking never creates one: each has its failure where it does not exist. */
    public CompletableFuture<ClusterMetadata> metadata(Collection<String> topics) {
        return request("metadata", Map.of("topics", Items.distinct(topics))).thenApply(ClusterMetadata::of);
    }

    // ---- configurations ----

    /** Describes configurations. */
    public Map<ConfigResource, CompletableFuture<List<ConfigEntry>>> describeConfigs(Collection<ConfigResource> resources) {
        Map<ConfigResource, Map<String, Object>> documents = new LinkedHashMap<>();
        Items.distinct(resources).forEach(resource -> documents.put(resource, AdminConfigs.document(resource)));
        return AdminConfigs.split(documents, (keys, list) -> perItem(keys, "configs_describe", Map.of("resources", list),
                "resources", ConfigResource::of,
                item -> Documents.list(item, "properties").stream().map(ConfigEntry::of).toList()));
    }

    /** Changes properties one by one and leaves the others alone. */
    public Map<ConfigResource, CompletableFuture<Void>> incrementalAlterConfigs(
            Map<ConfigResource, ? extends Collection<ConfigChange>> changes) {
        return incrementalAlterConfigs(changes, false);
    }

    /** Changes properties one by one, or only has the brokers check whether they could be changed. */
    public Map<ConfigResource, CompletableFuture<Void>> incrementalAlterConfigs(
            Map<ConfigResource, ? extends Collection<ConfigChange>> changes, boolean validateOnly) {
        Map<ConfigResource, Map<String, Object>> documents = new LinkedHashMap<>();
        changes.forEach((resource, list) -> documents.put(resource,
                AdminConfigs.document(resource, "changes", list.stream().map(ConfigChange::document).toList())));
        return alter("configs_alter_incremental", documents, validateOnly);
    }

    /**
     * Replaces whole configurations: what is not listed goes back to its default. Programs that change one property
     * want {@link #incrementalAlterConfigs(Map)}.
     */
    public Map<ConfigResource, CompletableFuture<Void>> alterConfigs(Map<ConfigResource, Map<String, String>> configs) {
        return alterConfigs(configs, false);
    }

    /** Replaces whole configurations, or only has the brokers check whether they could be. */
    public Map<ConfigResource, CompletableFuture<Void>> alterConfigs(
            Map<ConfigResource, Map<String, String>> configs, boolean validateOnly) {
        Map<ConfigResource, Map<String, Object>> documents = new LinkedHashMap<>();
        configs.forEach((resource, all) -> documents.put(resource, AdminConfigs.document(resource, "configs", all)));
        return alter("configs_alter", documents, validateOnly);
    }

    private Map<ConfigResource, CompletableFuture<Void>> alter(
            String operation, Map<ConfigResource, Map<String, Object>> documents, boolean validateOnly) {
        return AdminConfigs.split(documents, (keys, list) -> perItem(keys, operation,
                Map.of("resources", list, "validate_only", validateOnly), "resources", ConfigResource::of, Items::nothing));
    }

    // ---- groups ----

    /** All groups. */
    public CompletableFuture<GroupListings> listGroups() {
        return listGroups(Set.of(), Set.of());
    }

    /** The groups in these states and of these types; in any and of all where a set is empty. */
    public CompletableFuture<GroupListings> listGroups(Set<GroupState> states, Set<GroupType> types) {
        Map<String, Object> arguments = new LinkedHashMap<>();
        if (!states.isEmpty()) {
            arguments.put("states", states.stream().map(Words::text).toList());
        }
        if (!types.isEmpty()) {
            arguments.put("types", types.stream().map(Words::text).toList());
        }
        return request("groups_list", arguments).thenApply(answer -> new GroupListings(
                Documents.list(answer, "groups").stream().map(GroupListing::of).toList(),
                Documents.list(answer, "errors").stream().map(Documents::failureOf).toList()));
    }

    /** Describes groups. */
    public Map<String, CompletableFuture<GroupDescription>> describeGroups(Collection<String> names) {
        return describeGroups(names, false);
    }

    /** Describes groups, and tells what this client may do with them if that is asked for. */
    public Map<String, CompletableFuture<GroupDescription>> describeGroups(
            Collection<String> names, boolean authorizedOperations) {
        Set<String> groups = Items.distinct(names);
        return perItem(groups, "groups_describe", Map.of("groups", groups, "authorized_operations", authorizedOperations),
                "groups", item -> Documents.text(item, "group"), GroupDescription::of);
    }

    /** Deletes groups, which must be without members, and their offsets. */
    public Map<String, CompletableFuture<Void>> deleteGroups(Collection<String> names) {
        Set<String> groups = Items.distinct(names);
        return perItem(groups, "groups_delete", Map.of("groups", groups), "groups",
                item -> Documents.text(item, "group"), Items::nothing);
    }

    // ---- groups' offsets ----

    /** All offsets that a group has committed. */
    public CompletableFuture<Map<TopicPartition, OffsetAndMetadata>> listGroupOffsets(String group) {
        return listGroupOffsets(group, null, false);
    }

    /**
     * Offsets that a group has committed. Fails as a whole, by the first partition that did.
     *
     * @param group its name
     * @param partitions of which partitions; null for all that have one
     * @param requireStable whether to fail rather than tell an offset that an open transaction is about to change
     * @return the offsets; partitions without one are not in the map. The metadata of an offset that is not UTF-8 comes
     *     as hexadecimal digits.
     */
    public CompletableFuture<Map<TopicPartition, OffsetAndMetadata>> listGroupOffsets(
            String group, Collection<TopicPartition> partitions, boolean requireStable) {
        Map<String, Object> arguments = new LinkedHashMap<>();
        arguments.put("group", group);
        arguments.put("require_stable", requireStable);
        if (partitions != null) {
            arguments.put("partitions", Documents.of(Items.distinct(partitions)));
        }
        return request("group_offsets_list", arguments).thenApply(AdminOffsets::committed);
    }

    /** Sets committed offsets of a group, which must be without members. */
    public Map<TopicPartition, CompletableFuture<Void>> alterGroupOffsets(
            String group, Map<TopicPartition, OffsetAndMetadata> offsets) {
        List<Map<String, Object>> list = new ArrayList<>();
        offsets.forEach((partition, offset) -> list.add(AdminOffsets.document(partition, offset)));
        return ofGroup(group, offsets.keySet(), "group_offsets_alter", "offsets", list);
    }

    /** Deletes committed offsets of a group, of topics that no member subscribes to. */
    public Map<TopicPartition, CompletableFuture<Void>> deleteGroupOffsets(
            String group, Collection<TopicPartition> partitions) {
        Set<TopicPartition> distinct = Items.distinct(partitions);
        return ofGroup(group, distinct, "group_offsets_delete", "partitions", Documents.of(distinct));
    }

    private Map<TopicPartition, CompletableFuture<Void>> ofGroup(String group, Set<TopicPartition> partitions,
            String operation, String argument, List<Map<String, Object>> list) {
        if (partitions.isEmpty()) {
            return Map.of();
        }
        CompletableFuture<Map<String, Object>> answer =
                request(operation, Map.of("group", group, argument, list)).thenApply(Items::succeeded);
        return Items.byKey(partitions, answer, "partitions", Documents::partition, Items::nothing);
    }

    // ---- access control ----

    /** The rules that fit a filter. */
    public CompletableFuture<List<Acl>> describeAcls(AclFilter filter) {
        return request("acls_describe", Map.of("filter", filter.document()))
                .thenApply(answer -> Documents.list(answer, "acls").stream().map(Acl::of).toList());
    }

    /** Creates rules. */
    public Map<Acl, CompletableFuture<Void>> createAcls(Collection<Acl> acls) {
        Set<Acl> rules = Items.distinct(acls);
        return rules.isEmpty() ? Map.of() : Items.inOrder(rules,
                request("acls_create", Map.of("acls", rules.stream().map(Acl::document).toList())), "acls", Items::nothing);
    }

    /**
     * Deletes the rules that fit filters, and tells which they were. A filter with no field at all is refused: to delete
     * every rule, say {@link AclFilter#ALL}.
     */
    public Map<AclFilter, CompletableFuture<List<DeletedAcl>>> deleteAcls(Collection<AclFilter> filters) {
        Set<AclFilter> distinct = Items.distinct(filters);
        return distinct.isEmpty() ? Map.of() : Items.inOrder(distinct,
                request("acls_delete", Map.of("filters", distinct.stream().map(AclFilter::document).toList())), "filters",
                item -> Documents.list(item, "acls").stream()
                        .map(acl -> new DeletedAcl(Acl.of(acl), Documents.failure(acl))).toList());
    }

    // ---- records and offsets ----

    /**
     * Deletes the records of partitions before an offset; -1 stands for all that are there.
     *
     * @return for each partition, the smallest offset that is left
     */
    public Map<TopicPartition, CompletableFuture<Long>> deleteRecords(Map<TopicPartition, Long> before) {
        List<Map<String, Object>> list = new ArrayList<>();
        before.forEach((partition, offset) -> {
            Map<String, Object> document = Documents.of(partition);
            document.put("before", offset);
            list.add(document);
        });
        return perItem(before.keySet(), "records_delete", Map.of("partitions", list), "partitions", Documents::partition,
                item -> Documents.longOr(item, "first_offset"));
    }

    /** Looks offsets up among all records, those of open transactions too. */
    public Map<TopicPartition, CompletableFuture<ListedOffset>> listOffsets(Map<TopicPartition, OffsetSpec> which) {
        return listOffsets(which, false);
    }

    /** Looks offsets up, among the records that consumers of read_committed read if that is asked for. */
    public Map<TopicPartition, CompletableFuture<ListedOffset>> listOffsets(
            Map<TopicPartition, OffsetSpec> which, boolean readCommitted) {
        List<Map<String, Object>> list = new ArrayList<>();
        which.forEach((partition, spec) -> list.add(spec.document(partition)));
        return perItem(which.keySet(), "offsets_list",
                Map.of("partitions", list, "isolation", readCommitted ? "read_committed" : "read_uncommitted"),
                "partitions", Documents::partition, ListedOffset::of);
    }

    // ---- users ----

    /** All users' credentials, without what would give their passwords away. */
    public CompletableFuture<Map<String, List<ScramCredential>>> describeScramUsers() {
        return request("scram_users_describe", Map.of()).thenApply(answer -> {
            Items.check(answer, "users", item -> Documents.text(item, "user"));
            Map<String, List<ScramCredential>> users = new LinkedHashMap<>();
            Documents.list(answer, "users").forEach(
                    item -> users.put(Documents.text(item, "user"), AdminConfigs.credentials(item)));
            return users;
        });
    }

    /** These users' credentials. */
    public Map<String, CompletableFuture<List<ScramCredential>>> describeScramUsers(Collection<String> names) {
        Set<String> users = Items.distinct(names);
        return perItem(users, "scram_users_describe", Map.of("users", users), "users",
                item -> Documents.text(item, "user"), AdminConfigs::credentials);
    }

    /** Sets and deletes users' credentials. Brokers take one change of a user in a request, and refuse more of it. */
    public Map<String, CompletableFuture<Void>> alterScramUsers(Collection<ScramChange> changes) {
        Set<String> users = Items.distinct(changes.stream().map(ScramChange::user).toList());
        Map<Boolean, List<Map<String, Object>>> parts = changes.stream().collect(Collectors.partitioningBy(
                ScramChange::isDeletion, Collectors.mapping(ScramChange::document, Collectors.toList())));
        return perItem(users, "scram_users_alter", Map.of("upsertions", parts.get(false), "deletions", parts.get(true)),
                "users", item -> Documents.text(item, "user"), Items::nothing);
    }

    // ---- leaders ----

    /** Which replica is to lead. */
    public enum Election {
        /** The first of the placement, if it is in sync. */
        PREFERRED,
        /** Any that lives, if none in sync does: records may be lost. */
        UNCLEAN
    }

    /** Has leaders of these partitions elected. */
    public Map<TopicPartition, CompletableFuture<Void>> electLeaders(
            Election election, Collection<TopicPartition> partitions) {
        Set<TopicPartition> distinct = Items.distinct(partitions);
        return perItem(distinct, "leaders_elect",
                Map.of("election", Words.text(election), "partitions", Documents.of(distinct)), "partitions",
                Documents::partition, Items::nothing);
    }

    /** Has leaders of all partitions elected: those that took part, and null or why it failed for each. */
    public CompletableFuture<Map<TopicPartition, KafkaException>> electLeaders(Election election) {
        return request("leaders_elect", Map.of("election", Words.text(election))).thenApply(answer -> {
            Map<TopicPartition, KafkaException> outcomes = new LinkedHashMap<>();
            Documents.list(answer, "partitions").forEach(
                    item -> outcomes.put(Documents.partition(item), Documents.failure(item)));
            return outcomes;
        });
    }

    /** Nothing asked for, nothing sent; else one future for each key, by its name in the answer. */
    private <K, T> Map<K, CompletableFuture<T>> perItem(Set<K> keys, String operation, Map<String, ?> arguments,
            String list, Function<Map<String, Object>, K> keyOf, Items.Reader<T> reader) {
        return keys.isEmpty() ? Map.of() : Items.byKey(keys, request(operation, arguments), list, keyOf, reader);
    }

    // ---- the end ----

    /** The native client's and kafkabi's figures as a JSON document (api/metrics.schema.json has its shape). */
    public String metrics() {
        core.checkOpen();
        return Texts.read((buffer, size, length, error) ->
                KABI.kabi_admin_metrics(core.handle, buffer, size, length, error));
    }

    /**
     * Gives the client another user name and password, for SASL's PLAIN and SCRAM. Connections made from now on use them;
     * those that stand are left alone. Whether brokers accept them is told by {@link Config#onError}.
     */
    public void setCredentials(String username, String password) {
        core.checkOpen();
        Credentials.set(username, password, (user, secret, error) ->
                AdminCore.KABI.kabi_admin_credentials_set(core.handle, user, secret, error));
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

    /**
     * Waits until requests under way are answered, but no longer than this; the rest fails.
     *
     * @throws org.kafkabi.errors.TimeoutException if some were given up; the admin is closed all the same
     */
    public void close(Duration timeout) {
        try {
            core.close(Deadline.in(timeout));
        } finally {
            cleanable.clean();
        }
    }
}
