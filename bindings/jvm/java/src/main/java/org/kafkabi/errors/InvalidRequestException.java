package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A broker found the request wrong. */
public class InvalidRequestException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidRequestException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_REQUEST, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidRequestException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
