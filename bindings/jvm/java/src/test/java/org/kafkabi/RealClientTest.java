package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;

/** What only real brokers do: times, quotas, tokens and passwords. Profiles "single" and "secure" of tests/kafka/broker. */
@Timeout(240)
class RealClientTest {
    @Test
    @EnabledIfEnvironmentVariable(named = RealAdminTest.BROKER, matches = ".+")
    void positionsAreSoughtByTime() throws Exception {
        String topic = RealAdminTest.fresh("times");
        TopicPartition partition = new TopicPartition(topic, 0);
        try (Admin admin = new Admin(RealAdminTest.config());
                Producer producer = new Producer(RealAdminTest.config());
                Consumer consumer = new Consumer(RealAdminTest.config().set("auto.offset.reset", "earliest"))) {
            admin.createTopic(topic, 1, 1);
            for (int i = 0; i < 10; i++) {
                producer.send(Record.of(topic, "v" + i).withPartition(0).withTimestamp(1000L * i + 1000))
                        .get(60, TimeUnit.SECONDS);
            }
            consumer.assign(List.of(partition));
            Map<Long, Long> wanted = Map.of(0L, 0L, 4500L, 4L, 5000L, 4L, 99_000L, 10L);
            wanted.forEach((time, offset) -> {
                consumer.seekToTimes(Map.of(partition, time));
                assertEquals(offset, consumer.position(partition), "time " + time);
            });
            consumer.seekToTimes(Map.of(partition, 4500L));
            assertEquals("v4", new String(consumer.poll(Duration.ofSeconds(60)).iterator().next().value()));
        }
    }

    @Test
    @EnabledIfEnvironmentVariable(named = RealAdminTest.BROKER, matches = ".+")
    @EnabledIfEnvironmentVariable(named = "KABI_KAFKA_BROKER", matches = ".+")
    void throttlingIsTold() throws Exception {
        String client = RealAdminTest.fresh("slow");
        quota(client, "--add-config", "producer_byte_rate=20000");
        BlockingQueue<Throttle> told = new LinkedBlockingQueue<>();
        Config config = RealAdminTest.config().set("client.id", client).set("linger.ms", 0).onThrottle(told::add);
        try (Producer producer = new Producer(config)) {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(120);
            Throttle throttle = null;
            while (throttle == null || throttle.millis() == 0) {
                assertTrue(System.nanoTime() < end, "nobody was slowed down");
                producer.send(Record.of(client, null, new byte[20_000])).get(60, TimeUnit.SECONDS);
                throttle = told.poll();
            }
            assertEquals(1, throttle.brokerId());
            assertTrue(throttle.broker().contains("127.0.0.1:"), throttle::toString);
        } finally {
            quota(client, "--delete-config", "producer_byte_rate");
        }
    }

    private static void quota(String client, String what, String config) throws Exception {
        Process tool = new ProcessBuilder(System.getenv("KABI_KAFKA_BROKER"), "tool", "single",
                "org.apache.kafka.tools.ConfigCommand", "--alter", "--entity-type", "clients", "--entity-name", client,
                what, config).inheritIO().redirectOutput(ProcessBuilder.Redirect.DISCARD).start();
        assertTrue(tool.waitFor(120, TimeUnit.SECONDS));
        assertEquals(0, tool.exitValue());
    }

    @Test
    @EnabledIfEnvironmentVariable(named = SecureAdminTest.BROKER, matches = ".+")
    void tokensAreTakenAndRenewed() throws Exception {
        BlockingQueue<Long> given = new LinkedBlockingQueue<>();
        Config config = Config.of(System.getenv(SecureAdminTest.BROKER)).set("security.protocol", "SASL_PLAINTEXT")
                .set("sasl.mechanism", "OAUTHBEARER").tokens(text -> {
                    long expires = System.currentTimeMillis() + 4000;
                    given.add(expires);
                    return new TokenProvider.Token(token("erin", expires), expires, "erin");
                });
        try (Producer producer = new Producer(config)) {
            String topic = "erin-" + RealAdminTest.fresh("tokens");
            while (given.size() < 3) {
                assertTrue(producer.send(Record.of(topic, "v")).get(60, TimeUnit.SECONDS).hasOffset());
            }
        }
    }

    private static String token(String user, long expires) {
        long now = System.currentTimeMillis() / 1000;
        return base64("{\"alg\":\"none\"}") + "."
                + base64("{\"sub\":\"" + user + "\",\"iat\":" + now + ",\"exp\":" + expires / 1000 + "}") + ".";
    }

    private static String base64(String text) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    @EnabledIfEnvironmentVariable(named = SecureAdminTest.BROKER, matches = ".+")
    void anotherPasswordLetsALivingClientIn() throws Exception {
        BlockingQueue<KafkaException> errors = new LinkedBlockingQueue<>();
        Config config = SecureAdminTest.config("alice", "PLAIN", "not-the-secret").onError(errors::add).onLog(line -> {})
                .set("reconnect.backoff.max.ms", 200);
        try (Producer producer = new Producer(config)) {
            List<String> texts = new ArrayList<>();
            KafkaException error = errors.poll(60, TimeUnit.SECONDS);
            while (error != null && !error.name().contains("AUTH")) {
                texts.add(error.toString());
                error = errors.poll(60, TimeUnit.SECONDS);
            }
            assertFalse(error == null, texts::toString);
            producer.setCredentials("alice", "alice-secret");
            assertTrue(producer.send(Record.of("alice-" + RealAdminTest.fresh("in"), "v"))
                    .get(60, TimeUnit.SECONDS).hasOffset());
        }
    }
}
