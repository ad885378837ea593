package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kafkabi.errors.DisconnectException;
import org.kafkabi.errors.InterruptException;
import org.kafkabi.errors.TimeoutException;

/** Every public method that waits is ended by an interrupt, whether it comes before or during the wait. */
@Timeout(300)
class BlockingCallsTest {
    private static final Duration EVER = Duration.ofMillis(Long.MAX_VALUE);
    private static final TopicPartition P0 = new TopicPartition("t", 0);
    private static final Map<TopicPartition, OffsetAndMetadata> OFFSETS = Map.of(P0, new OffsetAndMetadata(1));

    /** What does not wait for brokers nor for other threads, by class. */
    private static final Map<Class<?>, Set<String>> AT_ONCE = Map.of(
            Producer.class, Set.of("outstanding", "metrics", "transactions", "setCredentials"),
            Transactions.class, Set.of("begin"),
            Consumer.class, Set.of("subscribe", "unsubscribe", "subscription", "assign", "incrementalAssign",
                    "incrementalUnassign", "assignment", "handled", "wakeup", "commitAsync", "store", "pause", "resume",
                    "paused", "memberId", "groupMetadata", "groupGeneration", "rebalanceProtocol", "metrics",
                    "setCredentials", "next"),
            Admin.class, Set.of("of", "within", "request", "createTopics", "deleteTopics", "createPartitions",
                    "describeTopics", "listTopics", "describeCluster", "metadata", "describeConfigs",
                    "incrementalAlterConfigs", "alterConfigs", "listGroups", "describeGroups", "deleteGroups",
                    "listGroupOffsets", "alterGroupOffsets", "deleteGroupOffsets", "describeAcls", "createAcls",
                    "deleteAcls", "deleteRecords", "listOffsets", "describeScramUsers", "alterScramUsers",
                    "electLeaders", "metrics", "setCredentials", "host"),
            EmbeddedCluster.class, Set.of("start", "bootstrapServers", "config", "createTopic", "brokerDown", "brokerUp",
                    "latency", "injectErrors", "injectBrokerErrors", "brokerErrorsLeft", "clearErrors", "apiVersions",
                    "topicError", "addBroker", "removeBroker", "brokerAddress", "rack", "telemetry", "leader",
                    "leaderAnswer", "follower", "followerWatermarks", "groupCoordinator", "transactionCoordinator",
                    "groupDelay", "groupTiming", "groupTarget", "trackRequests", "requests", "close"));

    private final Map<String, Runnable> calls = new LinkedHashMap<>();

    /** Calls that may be over before an interrupt comes, as nothing need be waited for. */
    private static final Set<String> QUICK =
            Set.of("Consumer.seek", "Consumer.seekToBeginning", "Consumer.seekToEnd", "Consumer.close");

    private void consumer(Consumer consumer) {
        calls.put("Consumer.poll", () -> consumer.poll(EVER));
        calls.put("Consumer.pollViews", () -> consumer.pollViews(EVER));
        calls.put("Consumer.each", () -> consumer.each(EVER, record -> true));
        calls.put("Consumer.commit", () -> consumer.commit(OFFSETS));
        calls.put("Consumer.committed", () -> consumer.committed(List.of(P0)));
        calls.put("Consumer.seek", () -> consumer.seek(P0, 1));
        calls.put("Consumer.seekToBeginning", () -> consumer.seekToBeginning(List.of(P0)));
        calls.put("Consumer.seekToEnd", () -> consumer.seekToEnd(List.of(P0)));
        calls.put("Consumer.seekToTimes", () -> consumer.seekToTimes(Map.of(P0, 1L)));
        calls.put("Consumer.beginningOffsets", () -> consumer.beginningOffsets(List.of(P0)));
        calls.put("Consumer.endOffsets", () -> consumer.endOffsets(List.of(P0)));
        calls.put("Consumer.offsetsForTimes", () -> consumer.offsetsForTimes(Map.of(P0, 1L)));
        calls.put("Consumer.lag", () -> consumer.lag(List.of(P0)));
        calls.put("Consumer.position", () -> {
            consumer.seekToEnd(List.of(P0));
            consumer.position(P0);
        });
    }

    private void admin(Admin admin) {
        calls.put("Admin.await", () -> Admin.await(new CompletableFuture<>()));
        calls.put("Admin.call", () -> admin.call("cluster_describe", Map.of()));
        calls.put("Admin.createTopic", () -> admin.createTopic("new", 1, 1));
        calls.put("Admin.deleteTopic", () -> admin.deleteTopic("t"));
    }

    private void transactions(EmbeddedCluster cluster, List<Producer> producers, Consumer consumer) {
        calls.put("Transactions.init", producers.get(0).transactions()::init);
        Transactions first = producers.get(1).transactions();
        Transactions second = producers.get(2).transactions();
        Transactions third = producers.get(3).transactions();
        calls.put("Transactions.offsets", () -> first.offsets(OFFSETS, consumer));
        calls.put("Transactions.offsets by metadata", () -> second.offsets(OFFSETS, consumer.groupMetadata()));
        calls.put("Transactions.offsets by id", () -> third.offsets(OFFSETS, "g"));
        calls.put("Transactions.commit", producers.get(4).transactions()::commit);
        calls.put("Transactions.abort", producers.get(5).transactions()::abort);
    }

    private void producer(Producer producer) {
        calls.put("Producer.send", () -> {
            while (true) {
                producer.send(Record.of("t", null, new byte[100_000]));
            }
        });
        calls.put("Producer.flush", producer::flush);
    }

    private static Config config(EmbeddedCluster cluster) {
        return cluster.config().set("max.block.ms", 1_000_000).set("default.api.timeout.ms", 1_000_000)
                .set("queue.buffering.max.messages", 10);
    }

    private static Producer transactional(EmbeddedCluster cluster, String id, boolean begun) {
        Producer producer = new Producer(config(cluster).set("transactional.id", id));
        if (begun) {
            producer.transactions().init();
            producer.transactions().begin();
            producer.send(Record.of("sent", "v"));
        }
        return producer;
    }

    @Test
    void interruptsEndThem() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 1).createTopic("sent", 1)) {
            List<Producer> transactional = Stream.of("init", "offsets-1", "offsets-2", "offsets-3", "commit", "abort")
                    .map(id -> transactional(cluster, id, !id.equals("init"))).toList();
            Consumer consumer = new Consumer(config(cluster).set("group.id", "g").set("auto.offset.reset", "earliest")
                    .set("session.timeout.ms", 6000).set("enable.auto.commit", false));
            consumer.assign(List.of(P0));
            consumer.poll(Duration.ofSeconds(1));
            cluster.brokerDown(EmbeddedCluster.ALL_BROKERS);
            Producer producer = new Producer(config(cluster));
            Admin admin = new Admin(config(cluster));
            consumer(consumer);
            admin(admin);
            transactions(cluster, transactional, consumer);
            producer(producer);
            calls.put("EmbeddedCluster.records", () -> cluster.records(P0, EVER));

            assertEquals(new TreeSet<>(waiting()), calls.keySet().stream().map(name -> name.split(" ")[0])
                    .collect(Collectors.toCollection(TreeSet::new)), "the table is not whole");
            for (Map.Entry<String, Runnable> call : calls.entrySet()) {
                interruptedBefore(call.getKey(), call.getValue());
                if (!QUICK.contains(call.getKey())) {
                    interruptedDuring(call.getKey(), call.getValue());
                }
            }
            interruptedDuring("Producer.close", producer::close);
            for (Producer each : transactional) {
                each.close(Duration.ZERO);
            }
            interruptedBefore("Consumer.close", consumer::close);
            interruptedBefore("Admin.close", admin::close);
        }
    }

    /** All public methods that are not in the table of those that return at once. */
    private static Set<String> waiting() {
        Set<String> names = new TreeSet<>();
        for (Class<?> type : AT_ONCE.keySet()) {
            Set<String> own = new TreeSet<>();
            for (Method method : type.getDeclaredMethods()) {
                if (Modifier.isPublic(method.getModifiers())) {
                    own.add(method.getName());
                }
            }
            assertTrue(own.containsAll(AT_ONCE.get(type)), () -> type + " has none of " + AT_ONCE.get(type) + " missing in " + own);
            own.removeAll(AT_ONCE.get(type));
            // Each closes but once: they are tried at the end.
            own.remove("close");
            own.forEach(name -> names.add(type.getSimpleName() + "." + name));
        }
        return names;
    }

    private static void interruptedBefore(String name, Runnable call) {
        Thread.currentThread().interrupt();
        try {
            assertThrows(InterruptException.class, call::run, name);
        } finally {
            assertTrue(Thread.interrupted(), () -> name + " lost the interrupt status");
        }
    }

    private static void interruptedDuring(String name, Runnable call) throws InterruptedException {
        try {
            ProducerTest.assertInterrupted(call);
        } catch (AssertionError failure) {
            throw new AssertionError(name + ": " + failure.getMessage(), failure);
        }
    }

    @Test
    void shortTimesEndThemToo() {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 1)) {
            Consumer consumer = new Consumer(cluster.config().set("group.id", "g").set("default.api.timeout.ms", 100)
                    .set("session.timeout.ms", 6000).set("enable.auto.commit", false));
            consumer.assign(List.of(P0));
            cluster.brokerDown(EmbeddedCluster.ALL_BROKERS);
            Producer producer = new Producer(cluster.config().set("max.block.ms", 100).set("transactional.id", "t"));
            Admin admin = new Admin(cluster.config().set("default.api.timeout.ms", 100));
            assertTrue(consumer.poll(Duration.ofMillis(100)).isEmpty());
            Map<String, Runnable> late = new LinkedHashMap<>();
            late.put("commit", () -> consumer.commit(OFFSETS));
            late.put("committed", () -> consumer.committed(List.of(P0)));
            late.put("endOffsets", () -> consumer.endOffsets(List.of(P0)));
            late.put("offsetsForTimes", () -> consumer.offsetsForTimes(Map.of(P0, 1L)));
            late.put("init", producer.transactions()::init);
            late.put("call", () -> admin.call("cluster_describe", Map.of()));
            late.put("createTopic", () -> admin.createTopic("new", 1, 1));
            late.forEach(BlockingCallsTest::assertTimesOut);
            producer.close(Duration.ZERO);
            admin.close();
            consumer.close();
        }
    }

    /** A connection that fails within the short time is told before it is up: then the call is made again. */
    private static void assertTimesOut(String name, Runnable call) {
        long end = System.nanoTime() + Duration.ofSeconds(30).toNanos();
        RuntimeException thrown;
        do {
            thrown = assertThrows(RuntimeException.class, call::run, name);
        } while (thrown instanceof DisconnectException && System.nanoTime() < end);
        assertInstanceOf(TimeoutException.class, thrown, name);
    }
}
