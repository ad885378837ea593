package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The group's id is missing or may not be used. */
public class InvalidGroupIdException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidGroupIdException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_GROUP_ID, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidGroupIdException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
