package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.kafkabi.errors.ConfigException;

/** Properties: names, values, and the words of Apache's client. */
class ConfigTest {
    @Test
    void valuesOfSeveralTypes() {
        Config config = Config.create()
                .set("bootstrap.servers", List.of("a:1", "b:2"))
                .set("linger.ms", 5)
                .set("enable.idempotence", true)
                .set("retry.backoff.ms", Duration.ofSeconds(1))
                .set("client.id", new StringBuilder("me"));
        assertEquals(Map.of("bootstrap.servers", "a:1,b:2", "linger.ms", "5", "enable.idempotence", "true",
                "retry.backoff.ms", "1000", "client.id", "me"), config.properties());
    }

    @Test
    void javaNamesAreTranslated() {
        Config config = Config.of(Map.of(
                "buffer.memory", 33_554_432L, "max.request.size", 2_000_000, "fetch.max.wait.ms", 100,
                "receive.buffer.bytes", -1, "auto.offset.reset", "none", "acks", "all",
                "partition.assignment.strategy", List.of("org.apache.kafka.clients.consumer.RangeAssignor",
                        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"),
                "ssl.endpoint.identification.algorithm", "", "max.poll.records", 10));
        Map<String, String> expected = new HashMap<>();
        expected.put("queue.buffering.max.kbytes", "32768");
        expected.put("message.max.bytes", "2000000");
        expected.put("fetch.wait.max.ms", "100");
        expected.put("socket.receive.buffer.bytes", "0");
        expected.put("auto.offset.reset", "error");
        expected.put("acks", "all");
        expected.put("partition.assignment.strategy", "range");
        expected.put("ssl.endpoint.identification.algorithm", "none");
        expected.put("max.poll.records", "10");
        assertEquals(expected, config.properties());
        assertEquals("cooperative-sticky", Config.create()
                .set("partition.assignment.strategy", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor")
                .properties().get("partition.assignment.strategy"));
    }

    @Test
    void jaasIsReadForPlainAndScram() {
        for (String module : List.of("org.apache.kafka.common.security.plain.PlainLoginModule",
                "org.apache.kafka.common.security.scram.ScramLoginModule")) {
            Config config = Config.create().set("sasl.jaas.config",
                    module + " required username=\"al\\\"ice\" password='s e;cret' ;");
            assertEquals("al\"ice", config.properties().get("sasl.username"));
            assertEquals("s e;cret", config.properties().get("sasl.password"));
            assertFalse(config.toString().contains("cret"));
        }
        for (String wrong : List.of("", "PlainLoginModule required;", "Krb5LoginModule required a=b;",
                "PlainLoginModule required username=\"a\" password=\"topsecret\" oops oops;")) {
            ConfigException thrown = assertThrows(ConfigException.class, () -> Config.create().set("sasl.jaas.config", wrong));
            assertTrue(thrown.getMessage().contains("sasl.jaas.config"));
            assertFalse(thrown.getMessage().contains("topsecret"));
        }
    }

    @Test
    void whatHasNoEqualIsRefusedWithAReason() {
        Map<String, String> reasons = Map.of("key.serializer", "bytes", "partitioner.class", "partitioner",
                "metric.reporters", "statistics.interval.ms", "ssl.truststore.password", "PEM",
                "interceptor.classes", "classes", "socket.connection.setup.timeout.max.ms", "socket.connection.setup.timeout.ms");
        reasons.forEach((name, reason) -> {
            ConfigException thrown = assertThrows(ConfigException.class, () -> Config.create().set(name, "x"));
            assertTrue(thrown.getMessage().contains(name) && thrown.getMessage().contains(reason), thrown.getMessage());
        });
    }

    @Test
    void wrongNamesAndValuesAreRefusedAndNamed() {
        Map<String, Object> wrong = new HashMap<>();
        wrong.put("bootstrap.serverz", "bootstrap.servers");
        wrong.put("linger.msec", "linger.ms");
        wrong.forEach((name, likely) -> {
            ConfigException thrown = assertThrows(ConfigException.class, () -> Config.create().set(name, "1"));
            assertTrue(thrown.getMessage().contains((String) likely), thrown.getMessage());
        });
        for (Object value : new Object[] {null, new Object(), "many", -5}) {
            ConfigException thrown = assertThrows(ConfigException.class, () -> Config.create().set("max.poll.records", value));
            assertTrue(thrown.getMessage().contains("max.poll.records"), thrown.getMessage());
        }
        assertThrows(ConfigException.class, () -> Config.create().set("acks", "some"));
        assertThrows(ConfigException.class, () -> Config.create().set(null, "some"));
        assertThrows(IllegalArgumentException.class, () -> Config.create().set("client.id", "a\0b"));
    }

    @Test
    void theLastOfSeveralNamesForOneThingHolds() {
        Config config = Config.create().set("linger.ms", 1).set("queue.buffering.max.ms", 2).set("linger.ms", 3);
        assertEquals(List.of("queue.buffering.max.ms", "linger.ms"), List.copyOf(config.properties().keySet()));
        config.unset("linger.ms");
        assertEquals(List.of("queue.buffering.max.ms"), List.copyOf(config.properties().keySet()));
    }

    @Test
    void theDescriptionNamesTheProperties() {
        assertTrue(Config.describe().contains("\"enable.idempotence\""));
        assertEquals("murmur2_random", Config.defaults().get("partitioner"));
    }
}
