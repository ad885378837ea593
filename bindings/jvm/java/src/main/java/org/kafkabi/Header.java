package org.kafkabi;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Objects;

/**
 * A header of a record: a name, and a value that may be null. A record may have several of one name.
 *
 * @param name the name; it may be empty
 * @param value the value's bytes, which are not copied, or null
 */
public record Header(String name, byte[] value) {
    /** Refuses a null name. */
    public Header {
        Objects.requireNonNull(name, "the name of a header is null");
    }

    /** A header whose value is a text in UTF-8. */
    public static Header of(String name, String value) {
        return new Header(name, value == null ? null : value.getBytes(StandardCharsets.UTF_8));
    }

    /** The value read as UTF-8, or null. */
    public String text() {
        return value == null ? null : new String(value, StandardCharsets.UTF_8);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Header header && name.equals(header.name) && Arrays.equals(value, header.value);
    }

    @Override
    public int hashCode() {
        return 31 * name.hashCode() + Arrays.hashCode(value);
    }

    @Override
    public String toString() {
        return name + "=" + (value == null ? "null" : value.length + " bytes");
    }
}
