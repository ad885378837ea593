package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** There is no connection to the broker. */
public class DisconnectException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public DisconnectException(String message) {
        this(message, Constants.KABI_STATUS_TRANSPORT, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public DisconnectException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
