package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/**
 * The thread was interrupted during a blocking call, or before it. The thread's interrupt status is set again, so that
 * loops which look at it end.
 */
public class InterruptException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** Sets the interrupt status of the current thread. */
    public InterruptException(String message) {
        super(message, Constants.KABI_STATUS_INTR, 0, null);
        Thread.currentThread().interrupt();
    }
}
