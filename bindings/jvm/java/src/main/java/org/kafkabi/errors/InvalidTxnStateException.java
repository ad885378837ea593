package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The coordinator has the transaction in another state. */
public class InvalidTxnStateException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidTxnStateException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_TXN_STATE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidTxnStateException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
