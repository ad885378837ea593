package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The broker knows nothing of the producer any more. */
public class UnknownProducerIdException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public UnknownProducerIdException(String message) {
        this(message, Constants.KABI_STATUS_UNKNOWN_PRODUCER_ID, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public UnknownProducerIdException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
