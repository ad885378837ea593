package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** transaction.timeout.ms is more than the brokers allow. */
public class InvalidTxnTimeoutException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidTxnTimeoutException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_TRANSACTION_TIMEOUT, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidTxnTimeoutException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
