package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The broker is not there. */
public class BrokerNotAvailableException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public BrokerNotAvailableException(String message) {
        this(message, Constants.KABI_STATUS_BROKER_NOT_AVAILABLE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public BrokerNotAvailableException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
