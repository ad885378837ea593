package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.kafkabi.errors.ElectionNotNeededException;
import org.kafkabi.errors.GroupIdNotFoundException;
import org.kafkabi.errors.GroupNotEmptyException;
import org.kafkabi.errors.InvalidConfigurationException;
import org.kafkabi.errors.OffsetOutOfRangeException;
import org.kafkabi.errors.TopicExistsException;
import org.kafkabi.errors.UnknownTopicOrPartitionException;

/** Administration of a real broker: profile "single" of tests/kafka/broker. */
@Timeout(240)
@EnabledIfEnvironmentVariable(named = RealAdminTest.BROKER, matches = ".+")
class RealAdminTest {
    static final String BROKER = "KABI_KAFKA_SINGLE";
    private static final AtomicInteger NUMBERS = new AtomicInteger();

    private static Admin admin;

    @BeforeAll
    static void start() {
        admin = new Admin(config());
    }

    @AfterAll
    static void stop() {
        admin.close();
    }

    static Config config() {
        return Config.of(System.getenv(BROKER));
    }

    /** A name that no other test uses, on brokers that are kept. */
    static String fresh(String what) {
        return "java-" + what + "-" + Long.toString(System.nanoTime(), 36) + NUMBERS.incrementAndGet();
    }

    /** Asks until the answer is as it should be: brokers learn of changes one after the other. */
    static <T> T until(Predicate<T> wanted, Callable<T> ask) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
        while (true) {
            try {
                T answer = ask.call();
                if (wanted.test(answer) || System.nanoTime() > end) {
                    assertTrue(wanted.test(answer), () -> "the answer stays " + answer);
                    return answer;
                }
            } catch (KafkaException notYet) {
                if (!notYet.retriable() || System.nanoTime() > end) {
                    throw notYet;
                }
            }
        }
    }

    private static String create(String what, int partitions) throws Exception {
        String name = fresh(what);
        admin.createTopic(name, partitions, 1);
        until(topic -> topic.partitions().size() == partitions, () -> describe(name));
        return name;
    }

    private static TopicDescription describe(String name) {
        return Admin.await(admin.describeTopics(List.of(name)).get(name));
    }

    @Test
    void topicsLiveAndEnd() throws Exception {
        String name = fresh("topics");
        Map<String, CompletableFuture<Void>> tried =
                admin.createTopics(List.of(new NewTopic(name, 3, 1)), true);
        Admin.await(tried.get(name));
        assertThrows(UnknownTopicOrPartitionException.class, () -> describe(name));
        Admin.await(admin.createTopics(
                List.of(new NewTopic(name, 3, 1).withConfigs(Map.of("retention.ms", "60000")))).get(name));
        CompletableFuture<Void> again = admin.createTopics(List.of(new NewTopic(name, 1, 1))).get(name);
        assertTrue(assertThrows(TopicExistsException.class, () -> Admin.await(again)).getMessage().contains(name));

        until(topic -> topic.partitions().size() == 3, () -> describe(name));
        Map<String, CompletableFuture<TopicDescription>> described =
                admin.describeTopics(List.of("no-such-topic", name), true);
        TopicDescription topic = Admin.await(described.get(name));
        assertEquals(name, topic.name());
        assertFalse(topic.internal());
        assertEquals(22, topic.id().length());
        assertTrue(topic.authorizedOperations().contains(Acl.Operation.READ), topic::toString);
        assertEquals("rack1", topic.partitions().get(2).leader().rack());
        assertNull(describe(name).authorizedOperations());
        assertThrows(UnknownTopicOrPartitionException.class, () -> Admin.await(described.get("no-such-topic")));

        Admin.await(admin.createPartitions(Map.of(name, 4)).get(name));
        Admin.await(admin.createPartitions(List.of(new NewPartitions(name, 5, List.of(List.of(1)))), false).get(name));
        until(all -> all.partitions().size() == 5, () -> describe(name));
        admin.deleteTopic(name);
    }

    @Test
    void configurationsAreDescribedAndChanged() throws Exception {
        String name = create("configs", 1);
        ConfigResource topic = ConfigResource.topic(name);
        ConfigResource broker = ConfigResource.broker(1);
        Map<ConfigResource, CompletableFuture<List<ConfigEntry>>> both = admin.describeConfigs(
                List.of(broker, topic, ConfigResource.topic("no-such-topic")));
        assertEquals(List.of(broker, topic, ConfigResource.topic("no-such-topic")), List.copyOf(both.keySet()));
        ConfigEntry threads = entry(Admin.await(both.get(broker)), "num.io.threads");
        assertEquals("2", threads.value());
        assertEquals("file", threads.source());
        ConfigEntry retention = entry(Admin.await(both.get(topic)), "retention.ms");
        assertTrue(retention.isDefault());
        assertFalse(retention.readOnly() || retention.sensitive());
        assertThrows(UnknownTopicOrPartitionException.class,
                () -> Admin.await(both.get(ConfigResource.topic("no-such-topic"))));

        Admin.await(admin.incrementalAlterConfigs(Map.of(topic, List.of(
                ConfigChange.set("retention.ms", 1000), ConfigChange.append("cleanup.policy", "compact")))).get(topic));
        configured(topic, Map.of("retention.ms", "1000", "cleanup.policy", "delete,compact"));
        Admin.await(admin.incrementalAlterConfigs(Map.of(topic, List.of(
                ConfigChange.delete("retention.ms"), ConfigChange.subtract("cleanup.policy", "delete")))).get(topic));
        configured(topic, Map.of("retention.ms", "604800000", "cleanup.policy", "compact"));
        Admin.await(admin.alterConfigs(Map.of(topic, Map.of("retention.ms", "2000"))).get(topic));
        configured(topic, Map.of("retention.ms", "2000", "cleanup.policy", "delete"));

        CompletableFuture<Void> wrong =
                admin.incrementalAlterConfigs(Map.of(topic, List.of(ConfigChange.set("retention.ms", "soon")))).get(topic);
        assertThrows(InvalidConfigurationException.class, () -> Admin.await(wrong));
        Admin.await(admin.incrementalAlterConfigs(
                Map.of(topic, List.of(ConfigChange.set("retention.ms", 77))), true).get(topic));
        Admin.await(admin.alterConfigs(Map.of(topic, Map.of("retention.ms", "78")), true).get(topic));
        configured(topic, Map.of("retention.ms", "2000"));
    }

    private static ConfigEntry entry(List<ConfigEntry> entries, String name) {
        return entries.stream().filter(entry -> entry.name().equals(name)).findAny().orElseThrow();
    }

    private static void configured(ConfigResource resource, Map<String, String> wanted) throws Exception {
        until(wanted::equals, () -> Admin.await(admin.describeConfigs(List.of(resource)).get(resource)).stream()
                .filter(entry -> wanted.containsKey(entry.name()))
                .collect(Collectors.toMap(ConfigEntry::name, ConfigEntry::value)));
    }

    @Test
    void theClusterIsDescribed() {
        ClusterDescription cluster = Admin.await(admin.describeCluster(true));
        assertTrue(cluster.id().length() > 10);
        assertEquals(1, cluster.controller().id());
        assertEquals("rack1", cluster.brokers().get(0).rack());
        assertTrue(cluster.authorizedOperations().contains(Acl.Operation.ALTER_CONFIGS), cluster::toString);
        assertNull(Admin.await(admin.describeCluster()).authorizedOperations());
    }

    @Test
    void askingForMetadataCreatesNothing() throws Exception {
        String known = create("metadata", 2);
        String unknown = fresh("unknown");
        for (int i = 0; i < 2; i++) {
            ClusterMetadata metadata = Admin.await(admin.metadata(List.of(unknown, known)));
            assertEquals(1, metadata.controller());
            assertEquals(2, metadata.topics().get(known).partitions().size());
            assertEquals(List.of(1), metadata.topics().get(known).partitions().get(0).inSync());
            assertEquals("UNKNOWN_TOPIC_OR_PART", metadata.topics().get(unknown).failure().name());
        }
    }

    @Test
    void leadersAreElected() throws Exception {
        TopicPartition here = new TopicPartition(create("leaders", 1), 0);
        TopicPartition missing = new TopicPartition(here.topic(), 9);
        Map<TopicPartition, CompletableFuture<Void>> elected =
                admin.electLeaders(Admin.Election.PREFERRED, List.of(missing, here));
        assertThrows(ElectionNotNeededException.class, () -> Admin.await(elected.get(here)));
        assertThrows(UnknownTopicOrPartitionException.class, () -> Admin.await(elected.get(missing)));
        Admin.await(admin.electLeaders(Admin.Election.PREFERRED)).values().forEach(failure -> assertNull(failure));
    }

    @Test
    void offsetsAreListedAndRecordsDeleted() throws Exception {
        String name = create("offsets", 2);
        TopicPartition p0 = new TopicPartition(name, 0);
        TopicPartition p1 = new TopicPartition(name, 1);
        try (Producer producer = new Producer(config())) {
            for (long timestamp : new long[] {1_000_000, 3_000_000, 2_000_000}) {
                producer.send(Record.of(name, "x").withPartition(0).withTimestamp(timestamp)).get(60, TimeUnit.SECONDS);
            }
        }
        assertEquals(0, listed(p0, OffsetSpec.earliest()).offset());
        assertEquals(3, listed(p0, OffsetSpec.latest()).offset());
        assertEquals(3, Admin.await(admin.listOffsets(Map.of(p0, OffsetSpec.latest()), true).get(p0)).offset());
        ListedOffset newest = listed(p0, OffsetSpec.maxTimestamp());
        assertEquals(1, newest.offset());
        assertEquals(3_000_000, newest.timestamp());
        assertEquals(1, listed(p0, OffsetSpec.forTimestamp(1_500_000)).offset());
        assertEquals(-1, listed(p0, OffsetSpec.forTimestamp(9_000_000)).offset());

        Map<TopicPartition, CompletableFuture<Long>> deleted = admin.deleteRecords(Map.of(p0, 2L, p1, 5L));
        assertEquals(2, Admin.await(deleted.get(p0)));
        assertThrows(OffsetOutOfRangeException.class, () -> Admin.await(deleted.get(p1)));
        assertEquals(2, listed(p0, OffsetSpec.earliest()).offset());
        assertEquals(3, Admin.await(admin.deleteRecords(Map.of(p0, -1L)).get(p0)));
    }

    private static ListedOffset listed(TopicPartition partition, OffsetSpec which) {
        return Admin.await(admin.listOffsets(Map.of(partition, which)).get(partition));
    }

    @Test
    void groupsOfBothProtocolsLiveAndEnd() throws Exception {
        groupLife(GroupType.CLASSIC);
        groupLife(GroupType.CONSUMER);
    }

    private void groupLife(GroupType type) throws Exception {
        String topic = create("group-topic", 2);
        String group = fresh("group");
        TopicPartition p0 = new TopicPartition(topic, 0);
        Config config = config().set("group.id", group).set("group.protocol", Words.text(type)).set("client.id", "member");
        try (Consumer consumer = new Consumer(config)) {
            consumer.subscribe(List.of(topic));
            until(assignment -> assignment.size() == 2, () -> {
                consumer.poll(Duration.ofMillis(100));
                return consumer.assignment();
            });
            GroupDescription description = until(it -> it.state() == GroupState.STABLE,
                    () -> Admin.await(admin.describeGroups(List.of(group), true).get(group)));
            assertEquals(type, description.type());
            assertEquals(1, description.coordinator().id());
            assertTrue(description.authorizedOperations().contains(Acl.Operation.READ), description::toString);
            GroupDescription.Member member = description.members().get(0);
            assertEquals(consumer.memberId(), member.id());
            assertEquals("member", member.client());
            assertEquals(consumer.assignment(), member.assignment());
            assertEquals(type == GroupType.CONSUMER ? consumer.assignment() : null, member.target());
            GroupListings stable = Admin.await(admin.listGroups(Set.of(GroupState.STABLE), Set.of(type)));
            assertEquals(List.of(), stable.failures());
            assertTrue(stable.groups().contains(new GroupListing(group, GroupState.STABLE, type, false)), stable::toString);
            assertFalse(Admin.await(admin.listGroups(Set.of(GroupState.EMPTY), Set.of())).groups().stream()
                    .anyMatch(listing -> listing.group().equals(group)));
            CompletableFuture<Void> early = admin.deleteGroups(List.of(group)).get(group);
            assertThrows(GroupNotEmptyException.class, () -> Admin.await(early));
            CompletableFuture<Void> subscribed = admin.deleteGroupOffsets(group, List.of(p0)).get(p0);
            assertThrows(KafkaException.class, () -> Admin.await(subscribed));
        }
        until(it -> it.state() == GroupState.EMPTY, () -> Admin.await(admin.describeGroups(List.of(group)).get(group)));
        Map<String, CompletableFuture<Void>> deleted = admin.deleteGroups(List.of("no-such-group", group));
        Admin.await(deleted.get(group));
        assertThrows(GroupIdNotFoundException.class, () -> Admin.await(deleted.get("no-such-group")));
    }

    @Test
    void groupOffsetsAreListedAlteredAndDeleted() throws Exception {
        String topic = create("group-offsets", 3);
        String group = fresh("offsets-group");
        TopicPartition p0 = new TopicPartition(topic, 0);
        TopicPartition p1 = new TopicPartition(topic, 1);
        TopicPartition p2 = new TopicPartition(topic, 2);
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        offsets.put(p0, new OffsetAndMetadata(7, "with \u00e4"));
        offsets.put(p1, new OffsetAndMetadata(8));
        until(altered -> true, () -> {
            admin.alterGroupOffsets(group, offsets).values().forEach(Admin::await);
            return true;
        });
        assertEquals(offsets, Admin.await(admin.listGroupOffsets(group)));
        assertEquals(offsets, Admin.await(admin.listGroupOffsets(group, List.of(p2, p1, p0), true)));
        assertEquals(Map.of(), Admin.await(admin.listGroupOffsets(group, List.of(p2), false)));
        try (Consumer consumer = new Consumer(config().set("group.id", group))) {
            assertEquals(offsets, consumer.committed(Set.of(p0, p1, p2)));
        }
        Admin.await(admin.deleteGroupOffsets(group, List.of(p0)).get(p0));
        assertEquals(Set.of(p1), Admin.await(admin.listGroupOffsets(group)).keySet());
    }
}
