package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The group has members. */
public class GroupNotEmptyException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public GroupNotEmptyException(String message) {
        this(message, Constants.KABI_STATUS_NON_EMPTY_GROUP, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public GroupNotEmptyException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
