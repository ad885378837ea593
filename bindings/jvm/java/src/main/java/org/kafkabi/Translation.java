package org.kafkabi;

import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.kafkabi.errors.ConfigException;

/** Properties of Apache's Java client, in the words of the native one; and the values of both as texts. */
final class Translation {
    /** Defaults that follow the Java client's, where the native client has others. */
    static final Map<String, String> DEFAULTS = ordered(
            "partitioner", "murmur2_random",
            "delivery.timeout.ms", "120000",
            "max.in.flight.requests.per.connection", "5",
            "queue.buffering.max.kbytes", "32768",
            "isolation.level", "read_uncommitted",
            "allow.auto.create.topics", "true",
            "check.crcs", "true");

    /** Properties that this library reads itself, with their defaults, which are the Java client's. */
    static final Map<String, String> OWN =
            ordered("max.block.ms", "60000", "max.poll.records", "500", "default.api.timeout.ms", "60000");

    /** Names of the Java client for what the native one calls otherwise. */
    private static final Map<String, String> RENAMED = ordered(
            "max.request.size", "message.max.bytes",
            "fetch.max.wait.ms", "fetch.wait.max.ms",
            "receive.buffer.bytes", "socket.receive.buffer.bytes",
            "send.buffer.bytes", "socket.send.buffer.bytes",
            "compression.gzip.level", "compression.level",
            "compression.lz4.level", "compression.level",
            "compression.zstd.level", "compression.level",
            "ssl.keystore.certificate.chain", "ssl.certificate.pem",
            "ssl.keystore.key", "ssl.key.pem",
            "ssl.truststore.certificates", "ssl.ca.pem",
            "ssl.truststore.location", "ssl.ca.location");

    /** Properties whose values need more than another name. */
    private static final Map<String, Function<String, Map<String, String>>> TRANSLATED = Map.of(
            "buffer.memory", Translation::bufferMemory,
            "auto.offset.reset", Translation::offsetReset,
            "partition.assignment.strategy", Translation::assignors,
            "sasl.jaas.config", Jaas::translate,
            "ssl.truststore.type", value -> type("ssl.truststore.type", value, List.of("PEM")),
            "ssl.keystore.type", value -> type("ssl.keystore.type", value, List.of("PKCS12")),
            "ssl.endpoint.identification.algorithm",
                    value -> Map.of("ssl.endpoint.identification.algorithm", value.isEmpty() ? "none" : value));

    /** Properties of the Java client that have no equal here, with what to do instead. */
    private static final Map<String, String> REFUSED = refused();

    private Translation() {}

    private static Map<String, String> refused() {
        String bytes = "records are bytes here: turn objects into bytes before send, and back after poll";
        String java = "it names Java classes, which the native client can't call";
        String metrics = "use statistics.interval.ms and Config.onStatistics";
        Map<String, String> refused = new LinkedHashMap<>();
        for (String name : List.of("key.serializer", "value.serializer", "key.deserializer", "value.deserializer")) {
            refused.put(name, bytes);
        }
        for (String name : List.of("interceptor.classes", "security.providers", "sasl.login.class",
                "sasl.client.callback.handler.class", "config.providers", "ssl.engine.factory.class")) {
            refused.put(name, java);
        }
        for (String name : List.of("metric.reporters", "metrics.num.samples", "metrics.recording.level",
                "metrics.sample.window.ms", "auto.include.jmx.reporter")) {
            refused.put(name, metrics);
        }
        refused.put("sasl.login.callback.handler.class", "use Config.tokens for SASL/OAUTHBEARER");
        refused.put("partitioner.class", "use partitioner, with a name such as murmur2_random or consistent");
        refused.put("partitioner.ignore.keys", "use partitioner=random, or send records without a key");
        refused.put("partitioner.adaptive.partitioning.enable", "use sticky.partitioning.linger.ms");
        refused.put("partitioner.availability.timeout.ms", "use sticky.partitioning.linger.ms");
        refused.put("metadata.max.idle.ms", "use metadata.max.age.ms, by which unused topics are forgotten too");
        refused.put("socket.connection.setup.timeout.max.ms", "use socket.connection.setup.timeout.ms");
        refused.put("ssl.protocol", "use ssl.cipher.suites; the native client offers TLS 1.2 and newer");
        refused.put("ssl.enabled.protocols", "use ssl.cipher.suites; the native client offers TLS 1.2 and newer");
        refused.put("ssl.provider", "use ssl.engine.location or ssl.providers");
        refused.put("ssl.truststore.password",
                "ssl.truststore.location is a file in PEM here, without a password: write one by keytool -exportcert -rfc");
        refused.put("exclude.internal.topics", "use topic.blacklist, or a regular expression that leaves them out");
        return refused;
    }

    /** The native properties for one that a program sets, checked. */
    static Map<String, String> translate(String name, Object value) {
        if (name == null) {
            throw new ConfigException("the name of a property is null");
        }
        String text = text(name, value);
        String reason = REFUSED.get(name);
        if (reason != null) {
            throw new ConfigException("the property " + name + " of Apache's Java client has no equal here: " + reason);
        }
        if (OWN.containsKey(name)) {
            checkOwn(name, text);
            return Map.of(name, text);
        }
        Function<String, Map<String, String>> rule = TRANSLATED.get(name);
        Map<String, String> translated =
                rule != null ? rule.apply(text) : Map.of(RENAMED.getOrDefault(name, name), socketSize(name, text));
        translated.forEach(Config::check);
        return translated;
    }

    /** The native names that a property is kept under. */
    static List<String> names(String name) {
        return switch (name) {
            case "buffer.memory" -> List.of("queue.buffering.max.kbytes");
            case "sasl.jaas.config" -> List.of("sasl.username", "sasl.password");
            default -> List.of(RENAMED.getOrDefault(name, name));
        };
    }

    static boolean isSecret(String name) {
        return name.contains("password") || name.contains("secret") || name.equals("ssl.key.pem");
    }

    private static String text(String name, Object value) {
        if (value instanceof Duration duration) {
            return Long.toString(duration.toMillis());
        }
        if (value instanceof Collection<?> items) {
            return items.stream().map(item -> text(name, item)).collect(Collectors.joining(","));
        }
        if (value instanceof CharSequence || value instanceof Number || value instanceof Boolean
                || value instanceof Enum<?> || value instanceof Character) {
            return value.toString();
        }
        if (value instanceof Class<?> type) {
            return type.getName();
        }
        throw new ConfigException("the value of the property " + name + " is " + (value == null ? "null" : "a "
                + value.getClass().getName()) + ": give a text, a number, a boolean, a duration or a list of these");
    }

    private static void checkOwn(String name, String text) {
        long lowest = name.equals("max.poll.records") ? 1 : 0;
        try {
            if (Long.parseLong(text.trim()) >= lowest) {
                return;
            }
        } catch (NumberFormatException notANumber) {
            // Said below.
        }
        throw new ConfigException("the property " + name + " is " + text + ": a whole number of at least " + lowest
                + " is expected");
    }

    /** -1 leaves a socket's buffer to the system in Java, 0 does here. */
    private static String socketSize(String name, String text) {
        boolean isSocket = name.equals("receive.buffer.bytes") || name.equals("send.buffer.bytes");
        return isSocket && text.equals("-1") ? "0" : text;
    }

    private static Map<String, String> bufferMemory(String value) {
        long bytes;
        try {
            bytes = Long.parseLong(value.trim());
        } catch (NumberFormatException notANumber) {
            throw new ConfigException("the property buffer.memory is " + value + ": a number of bytes is expected");
        }
        return Map.of("queue.buffering.max.kbytes", Long.toString(Math.max(1, (bytes + 1023) / 1024)));
    }

    private static Map<String, String> offsetReset(String value) {
        String translated = switch (value.toLowerCase(Locale.ROOT)) {
            case "none" -> "error";
            default -> value;
        };
        return Map.of("auto.offset.reset", translated);
    }

    /** Assignors by class name; eager and cooperative ones can't be mixed, so with both the eager ones are meant, as in Java. */
    private static Map<String, String> assignors(String value) {
        List<String> names = List.of(value.split(",")).stream().map(Translation::assignor).distinct().toList();
        List<String> eager = names.stream().filter(name -> !name.equals("cooperative-sticky")).toList();
        return Map.of("partition.assignment.strategy", String.join(",", eager.isEmpty() ? names : eager));
    }

    private static String assignor(String value) {
        String name = value.trim();
        return switch (name.substring(name.lastIndexOf('.') + 1)) {
            case "RangeAssignor" -> "range";
            case "RoundRobinAssignor" -> "roundrobin";
            case "CooperativeStickyAssignor" -> "cooperative-sticky";
            case "StickyAssignor" -> throw new ConfigException("the property partition.assignment.strategy is "
                    + value + ", which has no equal here: use cooperative-sticky");
            default -> name;
        };
    }

    private static Map<String, String> type(String name, String value, List<String> known) {
        if (known.contains(value.toUpperCase(Locale.ROOT))) {
            return Map.of();
        }
        throw new ConfigException("the property " + name + " is " + value + ": only " + String.join(", ", known)
                + " can be read here" + (name.equals("ssl.keystore.type")
                        ? "; for PEM use ssl.keystore.certificate.chain and ssl.keystore.key" : ""));
    }

    private static Map<String, String> ordered(String... pairs) {
        Map<String, String> map = new LinkedHashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            map.put(pairs[i], pairs[i + 1]);
        }
        return java.util.Collections.unmodifiableMap(map);
    }
}
