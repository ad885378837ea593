package org.kafkabi;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.kafkabi.errors.ConfigException;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Functions;
import org.kafkabi.lowlevel.Kabi;
import org.kafkabi.lowlevel.Memory;

/**
 * Properties and listeners that clients are made from. A client copies what it needs, so one configuration may make
 * many clients and may be changed after.
 *
 * <p>Properties are librdkafka's, kafkabi's own ({@code kafkabi.*}), and those of Apache's Java client: the latter are
 * translated where there is an equal, and refused with a reason where there is none. Names and values are checked when
 * they are set. Values may be texts, numbers, booleans, durations (milliseconds), or lists (joined by commas).
 *
 * <p>Defaults follow the Java client's where order, safety or meaning hang on them: see {@link #defaults()}.
 *
 * <p>Not safe for use by several threads at once.
 */
public final class Config {
    private static final Functions KABI = Kabi.functions();

    private final Map<String, String> properties = new LinkedHashMap<>();
    private Listeners listeners = Listeners.NONE;

    /** An empty configuration. */
    public static Config create() {
        return new Config();
    }

    /** A configuration with these properties. */
    public static Config of(Map<String, ?> properties) {
        Config config = new Config();
        properties.forEach(config::set);
        return config;
    }

    /** A configuration with this one of the cluster's addresses: {@code "host:port,host:port"}. */
    public static Config of(String bootstrapServers) {
        return new Config().set("bootstrap.servers", bootstrapServers);
    }

    private Config() {}

    /** A copy, which can be changed by itself. */
    public Config copy() {
        Config copy = new Config();
        copy.properties.putAll(properties);
        copy.listeners = listeners;
        return copy;
    }

    /**
     * Sets a property. A later one takes the place of an earlier one that means the same.
     *
     * @throws ConfigException if there is no such property, or its value is wrong; the message names the likely one
     */
    public Config set(String name, Object value) {
        Translation.translate(name, value).forEach((translated, text) -> {
            // The native client lets the last of several names for one thing hold: keep the order of setting.
            properties.remove(translated);
            properties.put(translated, text);
        });
        return this;
    }

    /** Takes a property back to its default. */
    public Config unset(String name) {
        Translation.names(name).forEach(properties::remove);
        return this;
    }

    /** What was set, in its translated form, without defaults. Unmodifiable. Secrets are not hidden. */
    public Map<String, String> properties() {
        return Collections.unmodifiableMap(properties);
    }

    /** The defaults in which this library differs from librdkafka's, because it follows the Java client's. */
    public static Map<String, String> defaults() {
        return Translation.DEFAULTS;
    }

    /** Is told of errors that belong to no call, such as a broker that went away, on the client's event thread. */
    public Config onError(Consumer<KafkaException> listener) {
        listeners = new Listeners(
                listener, listeners.onLog(), listeners.onStatistics(), listeners.onThrottle(), listeners.tokenProvider());
        return this;
    }

    /** Is given the lines of the native client's log; without it they go to the System.Logger org.kafkabi.producer etc. */
    public Config onLog(Consumer<LogLine> listener) {
        listeners = new Listeners(
                listeners.onError(), listener, listeners.onStatistics(), listeners.onThrottle(), listeners.tokenProvider());
        return this;
    }

    /** Is given statistics as a JSON document, every {@code statistics.interval.ms}, on the client's event thread. */
    public Config onStatistics(Consumer<String> listener) {
        listeners = new Listeners(
                listeners.onError(), listeners.onLog(), listener, listeners.onThrottle(), listeners.tokenProvider());
        return this;
    }

    /** Is told when a broker slows the client down because of a quota. */
    public Config onThrottle(Consumer<Throttle> listener) {
        listeners = new Listeners(
                listeners.onError(), listeners.onLog(), listeners.onStatistics(), listener, listeners.tokenProvider());
        return this;
    }

    /** Gives the tokens for {@code sasl.mechanisms=OAUTHBEARER}. */
    public Config tokens(TokenProvider provider) {
        listeners = new Listeners(
                listeners.onError(), listeners.onLog(), listeners.onStatistics(), listeners.onThrottle(), provider);
        return this;
    }

    /** The description of every native property as a JSON document: defaults, ranges, texts. */
    public static String describe() {
        return Texts.read((buffer, size, length, error) -> KABI.kabi_config_describe(buffer, size, length, error));
    }

    /** kafkabi's and librdkafka's versions, such as "0.1.0" and "2.10.0". */
    public static Map<String, String> versions() {
        Map<String, String> versions = new LinkedHashMap<>();
        versions.put("kafkabi", Memory.text(KABI.kabi_version()));
        versions.put("librdkafka", Memory.text(KABI.kabi_librdkafka_version()));
        return versions;
    }

    Listeners listeners() {
        return listeners;
    }

    /** The value of a property that this library reads itself, or that the native client has for a default. */
    String get(String name) {
        String own = properties.get(name);
        if (own != null) {
            return own;
        }
        String fallback = Translation.DEFAULTS.get(name);
        if (fallback == null) {
            fallback = Translation.OWN.get(name);
        }
        return fallback != null ? fallback : nativeDefault(name);
    }

    long number(String name) {
        return (long) Double.parseDouble(get(name));
    }

    private static String nativeDefault(String name) {
        long config = newNative();
        ByteBuffer text = Memory.text(name);
        try {
            return Texts.readOrNull((buffer, size, length, error) ->
                    KABI.kabi_config_get(config, Memory.address(text), buffer, size, length, error));
        } finally {
            Reference.reachabilityFence(text);
            KABI.kabi_config_free(config);
        }
    }

    /** Makes the native configuration for a client, which the caller frees. */
    long toNative(int events, Map<String, String> forced) {
        long config = newNative();
        try (Scratch scratch = Scratch.take()) {
            Translation.DEFAULTS.forEach((name, value) -> {
                if (!properties.containsKey(name) && !isRuledOut(name)) {
                    setNative(config, name, value);
                }
            });
            properties.forEach((name, value) -> {
                if (!Translation.OWN.containsKey(name)) {
                    setNative(config, name, value);
                }
            });
            forced.forEach((name, value) -> setNative(config, name, value));
            scratch.check(KABI.kabi_config_events(config, events, scratch.error()));
            return config;
        } catch (RuntimeException failure) {
            KABI.kabi_config_free(config);
            throw failure;
        }
    }

    /** librdkafka bounds the delivery time-out of a transactional producer by the transaction's, if nobody sets it. */
    private boolean isRuledOut(String name) {
        return name.equals("delivery.timeout.ms") && properties.containsKey("transactional.id");
    }

    /** Checks one native property by setting it where nobody looks. */
    static void check(String name, String value) {
        long config = newNative();
        try {
            setNative(config, name, value);
        } finally {
            KABI.kabi_config_free(config);
        }
    }

    private static long newNative() {
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_config_new(scratch.out(0), scratch.error()));
            return scratch.longOut(0);
        }
    }

    private static void setNative(long config, String name, String value) {
        ByteBuffer nameText = Memory.text(name);
        ByteBuffer valueText = Memory.text(value);
        try (Scratch scratch = Scratch.take()) {
            int status = KABI.kabi_config_set(config, Memory.address(nameText), Memory.address(valueText), scratch.error());
            if (status == Constants.KABI_STATUS_ARGUMENT) {
                throw new ConfigException(scratch.message());
            }
            scratch.check(status);
        } finally {
            Reference.reachabilityFence(nameText);
            Reference.reachabilityFence(valueText);
        }
    }

    /** Names and values, secrets hidden. */
    @Override
    public String toString() {
        Map<String, String> shown = new LinkedHashMap<>(properties);
        shown.replaceAll((name, value) -> Translation.isSecret(name) ? "[redacted]" : value);
        return "Config" + shown;
    }
}
