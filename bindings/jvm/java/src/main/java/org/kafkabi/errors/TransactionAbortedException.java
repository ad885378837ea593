package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The record was given up: by an abort of its transaction, or by a close that ran out of time. */
public class TransactionAbortedException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public TransactionAbortedException(String message) {
        this(message, Constants.KABI_STATUS_PURGE_QUEUE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public TransactionAbortedException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
