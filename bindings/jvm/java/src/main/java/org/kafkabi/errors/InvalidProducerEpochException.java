package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The producer's epoch is an old one. */
public class InvalidProducerEpochException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidProducerEpochException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_PRODUCER_EPOCH, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidProducerEpochException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
