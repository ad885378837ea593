package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The broker failed in a way that it has no code for. */
public class UnknownServerException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public UnknownServerException(String message) {
        this(message, Constants.KABI_STATUS_UNKNOWN, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public UnknownServerException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
