package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kafkabi.errors.UnknownTopicOrPartitionException;
import org.kafkabi.lowlevel.Constants;

/** What tests of programs ask of the embedded cluster. */
@Timeout(180)
class EmbeddedClusterTest {
    private static final Duration LONG = Duration.ofSeconds(60);

    /** Polls until it holds. */
    private static void pollUntil(Consumer consumer, BooleanSupplier holds) {
        long end = System.nanoTime() + LONG.toNanos();
        while (!holds.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, "it never came to that");
            consumer.poll(Duration.ofMillis(50));
        }
    }

    private static Config config(EmbeddedCluster cluster, String group) {
        return cluster.config().set("group.id", group).set("auto.offset.reset", "earliest")
                .set("session.timeout.ms", 6000).set("heartbeat.interval.ms", 500);
    }

    @Test
    void recordsAreReadBackWhole() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 2)) {
            byte[] large = new byte[500_000];
            large[499_999] = 7;
            try (Producer producer = new Producer(cluster.config())) {
                for (int i = 0; i < 100; i++) {
                    producer.send(Record.of("t", "k" + i, "v" + i).withPartition(1).withTimestamp(1000 + i)
                            .withHeaders(List.of(new Header("h", new byte[] {(byte) i}))));
                }
                producer.send(Record.of("t", null, large).withPartition(1));
            }
            assertEquals(List.of(), cluster.records("t", 0));
            List<Record> records = cluster.records("t", 1);
            assertEquals(101, records.size());
            Record seventh = records.get(7);
            assertEquals("t", seventh.topic());
            assertEquals(1, seventh.partition());
            assertEquals(7, seventh.offset());
            assertEquals(1007, seventh.timestamp());
            assertEquals("k7", new String(seventh.key()));
            assertEquals("v7", new String(seventh.value()));
            assertEquals("h", seventh.headers().get(0).name());
            assertArrayEquals(large, records.get(100).value());
            assertThrows(UnknownTopicOrPartitionException.class, () -> cluster.records("nowhere", 0));
            cluster.brokerDown(EmbeddedCluster.ALL_BROKERS);
            TopicPartition partition = new TopicPartition("t", 1);
            assertThrows(KafkaException.class, () -> cluster.records(partition, Duration.ofMillis(200)));
        }
    }

    @Test
    void requestsAreTracked() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start(2).createTopic("t", 1);
                Producer producer = new Producer(cluster.config().set("linger.ms", 0))) {
            assertEquals(List.of(), cluster.requests());
            cluster.trackRequests(true);
            for (int i = 0; i < 300; i++) {
                producer.send(Record.of("t", "v")).get(60, TimeUnit.SECONDS);
            }
            List<TrackedRequest> requests = cluster.requests();
            List<TrackedRequest> produced =
                    requests.stream().filter(it -> it.request() == Constants.KABI_REQUEST_PRODUCE).toList();
            assertTrue(produced.size() >= 300, () -> produced.size() + " requests");
            for (int i = 1; i < requests.size(); i++) {
                assertTrue(requests.get(i - 1).micros() <= requests.get(i).micros());
                assertTrue(Set.of(1, 2).contains(requests.get(i).broker()));
            }
            cluster.trackRequests(false);
            assertEquals(List.of(), cluster.requests());
        }
    }

    @Test
    void racksBrokersAndAddressesAreTold() {
        try (EmbeddedCluster cluster = EmbeddedCluster.start(2).createTopic("t", 3, 2);
                Admin admin = new Admin(cluster.config())) {
            cluster.rack(1, "left").rack(2, "right");
            Map<Integer, String> racks = new HashMap<>();
            ClusterMetadata before = Admin.await(admin.metadata());
            before.brokers().forEach(node -> racks.put(node.id(), node.rack()));
            assertEquals(Map.of(1, "left", 2, "right"), racks);
            cluster.addBroker(7);
            assertEquals(Set.of(1, 2, 7), ids(admin));
            cluster.removeBroker(7);
            assertEquals(Set.of(1, 2), ids(admin));
            cluster.brokerAddress(2, "broker.invalid", 9999);
            assertTrue(Admin.await(admin.metadata()).brokers().stream()
                    .anyMatch(node -> node.host().equals("broker.invalid") && node.port() == 9999));
            assertThrows(IllegalArgumentException.class, () -> cluster.addBroker(0));
            assertThrows(IllegalArgumentException.class, () -> cluster.rack(9, "none"));
        }
    }

    private static Set<Integer> ids(Admin admin) {
        Set<Integer> ids = new HashSet<>();
        Admin.await(admin.metadata()).brokers().forEach(node -> ids.add(node.id()));
        return ids;
    }

    @Test
    void leadersMoveAndFollowersAreReadFrom() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start(2).createTopic("t", 1, 2)) {
            cluster.leader("t", 0, 1);
            try (Producer producer = new Producer(cluster.config())) {
                producer.send(Record.of("t", "a")).get(60, TimeUnit.SECONDS);
                cluster.leader("t", 0, 2);
                producer.send(Record.of("t", "b")).get(60, TimeUnit.SECONDS);
                cluster.leader("t", 0, 1);
                producer.send(Record.of("t", "c")).get(60, TimeUnit.SECONDS);
            }
            cluster.follower("t", 0, 2).followerWatermarks("t", 0, -1, -1).trackRequests(true);
            try (Consumer consumer = new Consumer(cluster.config().set("auto.offset.reset", "earliest"))) {
                consumer.assign(List.of(new TopicPartition("t", 0)));
                Set<String> seen = new HashSet<>();
                long end = System.nanoTime() + LONG.toNanos();
                while (seen.size() < 3) {
                    assertTrue(System.nanoTime() < end, () -> "only " + seen);
                    consumer.poll(Duration.ofMillis(50)).forEach(record -> seen.add(new String(record.value())));
                }
            }
            assertTrue(cluster.requests().stream()
                    .anyMatch(it -> it.broker() == 2 && it.request() == Constants.KABI_REQUEST_FETCH));
            cluster.follower("t", 0, EmbeddedCluster.NO_BROKER).leaderAnswer("t", 0, 2, 0).trackRequests(true);
            try (Producer producer = new Producer(cluster.config())) {
                producer.send(Record.of("t", "d")).get(60, TimeUnit.SECONDS);
            }
            // As it was told, then as it is.
            assertEquals(List.of(2, 1), cluster.requests().stream().filter(
                    it -> it.request() == Constants.KABI_REQUEST_PRODUCE).map(TrackedRequest::broker).distinct().toList());
            assertThrows(UnknownTopicOrPartitionException.class, () -> cluster.follower("t", 9, 1));
        }
    }

    @Test
    void errorsAreCountedAndOlderVersionsPlayed() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 1)) {
            cluster.injectBrokerErrors(1, Constants.KABI_REQUEST_PRODUCE, Constants.KABI_STATUS_NOT_ENOUGH_REPLICAS, 0, 2);
            assertEquals(2, cluster.brokerErrorsLeft(1, Constants.KABI_REQUEST_PRODUCE));
            assertEquals(2, cluster.brokerErrorsLeft(EmbeddedCluster.ALL_BROKERS, Constants.KABI_REQUEST_PRODUCE));
            try (Producer producer = new Producer(cluster.config())) {
                producer.send(Record.of("t", "v")).get(60, TimeUnit.SECONDS);
            }
            assertEquals(0, cluster.brokerErrorsLeft(1, Constants.KABI_REQUEST_PRODUCE));

            cluster.apiVersions(Constants.KABI_REQUEST_INIT_PRODUCER_ID, -1, -1);
            ConcurrentLinkedQueue<KafkaException> errors = new ConcurrentLinkedQueue<>();
            try (Producer producer = new Producer(
                    cluster.config().set("enable.idempotence", false).onError(errors::add))) {
                producer.send(Record.of("t", "v")).get(60, TimeUnit.SECONDS);
            }
            assertThrows(IllegalArgumentException.class,
                    () -> cluster.apiVersions(Constants.KABI_REQUEST_PRODUCE, 500, 501));
        }
    }

    @Test
    void groupsOfTheConsumerProtocolAreTimedAndTargeted() {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 4)) {
            cluster.groupTiming(Duration.ofSeconds(30), Duration.ofMillis(100)).groupDelay(Duration.ofMillis(1));
            Config config = config(cluster, "g").unset("session.timeout.ms").unset("heartbeat.interval.ms")
                    .set("group.protocol", "consumer");
            try (Consumer consumer = new Consumer(config)) {
                assertTrue(consumer.groupGeneration() <= 0);
                consumer.subscribe(List.of("t"));
                pollUntil(consumer, () -> consumer.assignment().size() == 4);
                int generation = consumer.groupGeneration();
                assertTrue(generation > 0);
                assertEquals("COOPERATIVE", consumer.rebalanceProtocol());
                TopicPartition third = new TopicPartition("t", 2);
                Map<String, Collection<TopicPartition>> target = Map.of(consumer.memberId(), List.of(third));
                cluster.groupTarget("g", target);
                pollUntil(consumer, () -> consumer.assignment().equals(Set.of(third)));
                pollUntil(consumer, () -> consumer.groupGeneration() > generation);
                cluster.groupTarget("g", null);
                pollUntil(consumer, () -> consumer.assignment().size() == 4);
            }
            TopicPartition missing = new TopicPartition("t", 9);
            assertThrows(UnknownTopicOrPartitionException.class,
                    () -> cluster.groupTarget("g", Map.of("m", List.of(missing))));
            assertThrows(IllegalArgumentException.class,
                    () -> cluster.groupTiming(Duration.ofMillis(1), Duration.ofSeconds(1)));
        }
    }

    @Test
    void metricsAreAskedFor() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 1)) {
            cluster.telemetry(List.of(""), Duration.ofMillis(100)).trackRequests(true);
            assertThrows(IllegalStateException.class, () -> cluster.telemetry(List.of(""), Duration.ofMillis(100)));
            try (Producer producer = new Producer(cluster.config().set("enable.metrics.push", true))) {
                long end = System.nanoTime() + LONG.toNanos();
                while (cluster.requests().stream().noneMatch(it -> it.request() == Constants.KABI_REQUEST_PUSH_TELEMETRY)) {
                    assertTrue(System.nanoTime() < end, "no metrics came");
                    producer.send(Record.of("t", "v")).get(60, TimeUnit.SECONDS);
                }
            }
        }
    }

    @Test
    void closedClustersSaySo() {
        EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 1);
        cluster.close();
        cluster.close();
        assertThrows(IllegalStateException.class, () -> cluster.createTopic("u", 1));
        assertThrows(IllegalStateException.class, cluster::requests);
        assertThrows(IllegalStateException.class, () -> cluster.records("t", 0));
        assertFalse(cluster.bootstrapServers().isEmpty());
    }
}
