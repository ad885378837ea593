package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The record's timestamp is out of the range that the topic allows. */
public class InvalidTimestampException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidTimestampException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_TIMESTAMP, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidTimestampException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
