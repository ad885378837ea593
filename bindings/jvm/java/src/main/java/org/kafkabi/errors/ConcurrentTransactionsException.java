package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The transaction before this one is still being ended. */
public class ConcurrentTransactionsException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public ConcurrentTransactionsException(String message) {
        this(message, Constants.KABI_STATUS_CONCURRENT_TRANSACTIONS, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public ConcurrentTransactionsException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
