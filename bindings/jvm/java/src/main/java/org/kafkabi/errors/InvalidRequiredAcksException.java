package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The broker does not know this value of acks. */
public class InvalidRequiredAcksException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidRequiredAcksException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_REQUIRED_ACKS, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidRequiredAcksException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
