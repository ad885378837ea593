package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** There is no such group. */
public class GroupIdNotFoundException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public GroupIdNotFoundException(String message) {
        this(message, Constants.KABI_STATUS_GROUP_ID_NOT_FOUND, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public GroupIdNotFoundException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
