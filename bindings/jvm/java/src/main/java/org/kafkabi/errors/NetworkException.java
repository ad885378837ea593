package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A broker went away before it had answered. */
public class NetworkException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public NetworkException(String message) {
        this(message, Constants.KABI_STATUS_NETWORK_EXCEPTION, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public NetworkException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
