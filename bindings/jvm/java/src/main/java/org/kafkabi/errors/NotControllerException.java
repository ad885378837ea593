package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The broker that was asked is not the controller any more. */
public class NotControllerException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public NotControllerException(String message) {
        this(message, Constants.KABI_STATUS_NOT_CONTROLLER, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public NotControllerException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
