package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfEnvironmentVariable;
import org.kafkabi.errors.GroupAuthorizationException;

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
            long[][] wanted = {{0, 0}, {5000, 4}, {99_000, 10}, {4500, 4}};
            for (long[] each : wanted) {
                consumer.seekToTimes(Map.of(partition, each[0]));
                assertEquals(each[1], consumer.position(partition), "time " + each[0]);
            }
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

    /** One client writes and the other reads, each by a token of its own making. */
    @Test
    @EnabledIfEnvironmentVariable(named = SecureAdminTest.BROKER, matches = ".+")
    void bothClientsUseTokens() throws Exception {
        String topic = "erin-" + RealAdminTest.fresh("both");
        Config config = Config.of(System.getenv(SecureAdminTest.BROKER)).set("security.protocol", "SASL_PLAINTEXT")
                .set("sasl.mechanism", "OAUTHBEARER").set("auto.offset.reset", "earliest").set("group.id", "erin-readers")
                .tokens(text -> {
                    long expires = System.currentTimeMillis() + 3_600_000;
                    return new TokenProvider.Token(token("erin", expires), expires, "erin");
                });
        Properties apache = new Properties();
        apache.putAll(Map.of("bootstrap.servers", System.getenv(SecureAdminTest.BROKER), "security.protocol", "SASL_PLAINTEXT",
                "sasl.mechanism", "OAUTHBEARER", "auto.offset.reset", "earliest", "sasl.jaas.config",
                OAuthBearerLoginModule.class.getName() + " required unsecuredLoginStringClaim_sub=\"erin\";"));
        try (Producer producer = new Producer(config)) {
            assertTrue(producer.send(Record.of(topic, "ours").withPartition(0)).get(60, TimeUnit.SECONDS).hasOffset());
        }
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(apache, new ByteArraySerializer(), new ByteArraySerializer())) {
            byte[] value = "theirs".getBytes(StandardCharsets.UTF_8);
            assertTrue(producer.send(new ProducerRecord<>(topic, 0, null, value)).get(60, TimeUnit.SECONDS).hasOffset());
        }
        List<String> ours = new ArrayList<>();
        try (Consumer consumer = new Consumer(config)) {
            consumer.assign(List.of(new TopicPartition(topic, 0)));
            while (ours.size() < 2) {
                consumer.poll(Duration.ofSeconds(60)).forEach(record -> ours.add(record.valueText()));
            }
        }
        List<String> theirs = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(apache, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(new org.apache.kafka.common.TopicPartition(topic, 0)));
            while (theirs.size() < 2) {
                consumer.poll(Duration.ofSeconds(60))
                        .forEach(record -> theirs.add(new String(record.value(), StandardCharsets.UTF_8)));
            }
        }
        assertEquals(List.of("ours", "theirs"), ours);
        assertEquals(List.of("ours", "theirs"), theirs);
    }

    /** An error that is about no topic comes out of a poll, whichever it is. */
    @Test
    @EnabledIfEnvironmentVariable(named = SecureAdminTest.BROKER, matches = ".+")
    void aGroupThatIsNotAllowedIsTold() {
        Config config = SecureAdminTest.config("alice", "PLAIN", "alice-secret").set("group.id", "not-for-alice")
                .set("auto.offset.reset", "earliest").onError(error -> {}).onLog(line -> {});
        for (boolean views : new boolean[] {false, true}) {
            try (Consumer consumer = new Consumer(config)) {
                consumer.subscribe(List.of("alice-" + RealAdminTest.fresh("denied")));
                assertThrows(GroupAuthorizationException.class, () -> {
                    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
                    while (System.nanoTime() < end) {
                        if (views) {
                            consumer.pollViews(Duration.ofSeconds(1)).next();
                        } else {
                            consumer.poll(Duration.ofSeconds(1));
                        }
                    }
                });
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
