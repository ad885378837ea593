package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** session.timeout.ms is out of the range that the brokers allow. */
public class InvalidSessionTimeoutException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidSessionTimeoutException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_SESSION_TIMEOUT, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidSessionTimeoutException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
