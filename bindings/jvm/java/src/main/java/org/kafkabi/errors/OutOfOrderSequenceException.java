package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The broker missed records of the idempotent producer before these. */
public class OutOfOrderSequenceException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public OutOfOrderSequenceException(String message) {
        this(message, Constants.KABI_STATUS_OUT_OF_ORDER_SEQUENCE_NUMBER, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public OutOfOrderSequenceException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
