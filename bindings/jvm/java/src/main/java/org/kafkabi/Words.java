package org.kafkabi;

import java.util.Locale;

/** Words of the admin's documents, such as "transactional_id", as enum constants and back. */
final class Words {
    private Words() {}

    static String text(Enum<?> constant) {
        return constant == null ? null : constant.name().toLowerCase(Locale.ROOT);
    }

    /** The constant for a word; {@code other} for one that this library does not know. */
    static <E extends Enum<E>> E constant(E[] constants, String word, E other) {
        for (E constant : constants) {
            if (text(constant).equals(word)) {
                return constant;
            }
        }
        return other;
    }
}
