package org.kafkabi;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;

/**
 * A change of one property; the others stay as they are.
 *
 * @param name the property's name
 * @param operation what to do with it
 * @param value the value to set, append or take out; null with {@link Operation#DELETE}
 */
public record ConfigChange(String name, Operation operation, String value) {
    /** What can be done with a property. */
    public enum Operation {
        /** Gives it a value. */
        SET,
        /** Takes it back to its default. */
        DELETE,
        /** Adds a value to a list. */
        APPEND,
        /** Takes a value out of a list. */
        SUBTRACT
    }

    /** Refuses a missing value, and one that is too many. */
    public ConfigChange {
        Objects.requireNonNull(name, "the name of a property to change is null");
        Objects.requireNonNull(operation, "the operation of a property's change is null");
        if ((value == null) != (operation == Operation.DELETE)) {
            throw new IllegalArgumentException("property " + name + ": " + operation
                    + (value == null ? " needs a value" : " takes no value, but got " + value));
        }
    }

    /** Gives a property a value. */
    public static ConfigChange set(String name, Object value) {
        return new ConfigChange(name, Operation.SET, String.valueOf(value));
    }

    /** Takes a property back to its default. */
    public static ConfigChange delete(String name) {
        return new ConfigChange(name, Operation.DELETE, null);
    }

    /** Adds a value to a property that is a list. */
    public static ConfigChange append(String name, String value) {
        return new ConfigChange(name, Operation.APPEND, value);
    }

    /** Takes a value out of a property that is a list. */
    public static ConfigChange subtract(String name, String value) {
        return new ConfigChange(name, Operation.SUBTRACT, value);
    }

    Map<String, Object> document() {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("name", name);
        document.put("operation", Words.text(operation));
        if (value != null) {
            document.put("value", value);
        }
        return document;
    }
}
