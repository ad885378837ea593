package org.kafkabi;

/** Who set the timestamp of a record. */
public enum TimestampType {
    /** The record has no timestamp. */
    NONE,
    /** The program that sent the record. */
    CREATE_TIME,
    /** The broker, when it appended the record to its log. */
    LOG_APPEND_TIME;

    static TimestampType of(int number) {
        return switch (number) {
            case 1 -> CREATE_TIME;
            case 2 -> LOG_APPEND_TIME;
            default -> NONE;
        };
    }
}
