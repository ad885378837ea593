package org.kafkabi;

import java.util.Locale;
import java.util.Map;
import java.util.Objects;

/**
 * What has a configuration.
 *
 * @param type what it is
 * @param name its name, or a broker's number as a text
 */
public record ConfigResource(Type type, String name) {
    /** Kinds of things that have a configuration. */
    public enum Type {
        /** A topic. */
        TOPIC,
        /** A group of the consumer protocol. */
        GROUP,
        /** A broker. */
        BROKER
    }

    /** Refuses nulls. */
    public ConfigResource {
        Objects.requireNonNull(type, "the type of a configuration is null");
        Objects.requireNonNull(name, "the name of a configuration's owner is null");
    }

    /** A topic's configuration. */
    public static ConfigResource topic(String name) {
        return new ConfigResource(Type.TOPIC, name);
    }

    /** The configuration of a group of the consumer protocol. */
    public static ConfigResource group(String name) {
        return new ConfigResource(Type.GROUP, name);
    }

    /** A broker's configuration. */
    public static ConfigResource broker(int id) {
        return new ConfigResource(Type.BROKER, Integer.toString(id));
    }

    static ConfigResource of(Map<String, Object> document) {
        return new ConfigResource(Type.valueOf(Documents.text(document, "type").toUpperCase(Locale.ROOT)),
                Documents.text(document, "name"));
    }
}
