package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** Another consumer has the group.instance.id now. */
public class FencedInstanceIdException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public FencedInstanceIdException(String message) {
        this(message, Constants.KABI_STATUS_FENCED_INSTANCE_ID, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public FencedInstanceIdException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
