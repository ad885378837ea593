package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kafkabi.errors.TimeoutException;
import org.kafkabi.errors.UnknownTopicOrPartitionException;

/** Administration as far as the embedded cluster answers, and what never reaches a broker. */
@Timeout(120)
class AdminTest {
    private static final TopicPartition P0 = new TopicPartition("known", 0);
    private static final TopicPartition P1 = new TopicPartition("known", 1);

    private static EmbeddedCluster cluster;
    private static Admin admin;

    @BeforeAll
    static void start() {
        cluster = EmbeddedCluster.start(2).createTopic("known", 2, 2);
        admin = new Admin(cluster.config());
        try (Producer producer = new Producer(cluster.config())) {
            producer.send(Record.of("known", "a").withPartition(0));
            producer.send(Record.of("known", "b").withPartition(0));
        }
    }

    @AfterAll
    static void stop() {
        admin.close();
        cluster.close();
    }

    @Test
    void metadataTellsBrokersTopicsAndPartitions() {
        ClusterMetadata metadata = Admin.await(admin.metadata(List.of("known")));
        assertEquals(List.of(1, 2), metadata.brokers().stream().map(Node::id).sorted().toList());
        assertEquals(Set.of("known"), metadata.topics().keySet());
        ClusterMetadata.Topic topic = metadata.topics().get("known");
        assertNull(topic.failure());
        assertEquals(2, topic.partitions().size());
        for (ClusterMetadata.Partition partition : topic.partitions()) {
            assertEquals(2, partition.replicas().size());
            assertTrue(partition.replicas().contains(partition.leader()), partition::toString);
        }
        assertTrue(Admin.await(admin.listTopics()).contains("known"));
    }

    @Test
    void offsetsAreListed() {
        Map<TopicPartition, OffsetSpec> which = new LinkedHashMap<>();
        which.put(P1, OffsetSpec.latest());
        which.put(P0, OffsetSpec.latest());
        which.put(new TopicPartition("known", 7), OffsetSpec.earliest());
        Map<TopicPartition, CompletableFuture<ListedOffset>> futures = admin.listOffsets(which);
        assertEquals(List.copyOf(which.keySet()), List.copyOf(futures.keySet()));
        assertEquals(2, Admin.await(futures.get(P0)).offset());
        assertEquals(0, Admin.await(futures.get(P1)).offset());
        CompletableFuture<ListedOffset> missing = futures.get(new TopicPartition("known", 7));
        assertThrows(UnknownTopicOrPartitionException.class, () -> Admin.await(missing));
    }

    @Test
    void whatNobodyAnswersEndsInTimeForEachItem() {
        Admin quick = admin.within(Duration.ofMillis(200));
        Map<String, CompletableFuture<Void>> futures = quick.deleteTopics(List.of("known", "known", "other"));
        assertEquals(List.of("known", "other"), List.copyOf(futures.keySet()));
        for (CompletableFuture<Void> future : futures.values()) {
            assertInstanceOf(KafkaException.class, assertThrows(KafkaException.class, () -> Admin.await(future)));
        }
        try (Admin lonely = new Admin(Config.of("127.0.0.1:1"))) {
            CompletableFuture<ClusterDescription> nobody = lonely.within(Duration.ofMillis(200)).describeCluster();
            assertThrows(TimeoutException.class, () -> Admin.await(nobody));
        }
    }

    @Test
    void whatIsAskedForNothingIsNotAsked() {
        assertEquals(Map.of(), admin.createTopics(List.of()));
        assertEquals(Map.of(), admin.deleteTopics(List.of()));
        assertEquals(Map.of(), admin.describeConfigs(List.of()));
        assertEquals(Map.of(), admin.deleteRecords(Map.of()));
        assertEquals(Map.of(), admin.createAcls(List.of()));
        assertEquals(Map.of(), admin.deleteAcls(List.of()));
        assertEquals(Map.of(), admin.alterGroupOffsets("g", Map.of()));
        assertEquals(Map.of(), admin.alterScramUsers(List.of()));
    }

    @Test
    void faultsInArgumentsAreNamed() {
        assertTrue(assertThrows(IllegalArgumentException.class, () -> admin.request("topics_creat", Map.of()))
                .getMessage().contains("topics_create"));
        IllegalArgumentException twice = assertThrows(IllegalArgumentException.class,
                () -> admin.createTopics(List.of(new NewTopic("t", 1, 1), new NewTopic("t", 2, 1))));
        assertTrue(twice.getMessage().contains("t is named twice"), twice::getMessage);
        assertThrows(IllegalArgumentException.class, () -> admin.deleteTopics(Arrays.asList("a", null)));
        assertThrows(IllegalArgumentException.class,
                () -> new ConfigChange("retention.ms", ConfigChange.Operation.SET, null));
        assertThrows(IllegalArgumentException.class,
                () -> new ConfigChange("retention.ms", ConfigChange.Operation.DELETE, "1"));
        AclFilter empty = new AclFilter(null, null, null, null, null, null, null);
        assertThrows(IllegalArgumentException.class, () -> admin.deleteAcls(List.of(empty)));
        assertThrows(IllegalArgumentException.class, () -> admin.describeAcls(AclFilter.ALL.withOperation(Acl.Operation.UNKNOWN)));
    }

    @Test
    void passwordsAreNotShown() {
        ScramChange change = ScramChange.set("ann", ScramMechanism.SCRAM_SHA_256, "hunter2");
        assertEquals("set SCRAM-SHA-256 of ann", change.toString());
        ScramChange wrong = ScramChange.set("ann", ScramMechanism.UNKNOWN, "hunter2");
        IllegalArgumentException refused =
                assertThrows(IllegalArgumentException.class, () -> admin.alterScramUsers(List.of(wrong)));
        assertTrue(!refused.getMessage().contains("hunter2"), refused::getMessage);
    }

    @Test
    void itemsAreFoundByNameInAnyOrder() {
        Map<String, Object> ok = Map.of("code", 0L, "name", "OK", "text", "");
        Map<String, Object> bad = Map.of("code", 3L, "name", "UNKNOWN_TOPIC_OR_PART", "text", "no topic b");
        CompletableFuture<Map<String, Object>> answer = new CompletableFuture<>();
        Map<String, CompletableFuture<String>> futures = Items.byKey(List.of("a", "b", "c"), answer, "topics",
                item -> Documents.text(item, "topic"), item -> Documents.text(item, "topic"));
        answer.complete(Map.of("topics", List.of(Map.of("topic", "b", "status", bad), Map.of("topic", "a", "status", ok))));
        assertEquals("a", Admin.await(futures.get("a")));
        UnknownTopicOrPartitionException failure =
                assertThrows(UnknownTopicOrPartitionException.class, () -> Admin.await(futures.get("b")));
        assertEquals("no topic b", failure.getMessage());
        assertTrue(failure.retriable());
        assertTrue(assertThrows(KafkaException.class, () -> Admin.await(futures.get("c"))).getMessage().contains(" c,"));
    }

    @Test
    void closedAdminsSaySo() {
        Admin closed = new Admin(cluster.config());
        Admin view = closed.within(Duration.ofSeconds(1));
        view.close();
        closed.close();
        assertThrows(IllegalStateException.class, closed::metadata);
        assertThrows(IllegalStateException.class, view::listGroups);
        assertThrows(IllegalStateException.class, closed::metrics);
    }

    /** `Admin.of(client).describe...` leaves nothing but the future in the program's hands. */
    @Test
    void aForgottenAdminAnswersWhatItWasAsked() {
        try (EmbeddedCluster own = EmbeddedCluster.start().createTopic("t", 1); Producer producer = new Producer(own.config())) {
            own.latency(EmbeddedCluster.ALL_BROKERS, 500);
            for (int round = 0; round < 3; round++) {
                CompletableFuture<ClusterMetadata> future = Admin.of(producer).metadata(List.of("t"));
                while (!future.isDone()) {
                    System.gc();
                    LockSupport.parkNanos(10_000_000);
                }
                assertEquals(Set.of("t"), Admin.await(future).topics().keySet());
            }
        }
    }
}
