package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The group has as many members as it may. */
public class GroupMaxSizeReachedException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public GroupMaxSizeReachedException(String message) {
        this(message, Constants.KABI_STATUS_GROUP_MAX_SIZE_REACHED, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public GroupMaxSizeReachedException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
