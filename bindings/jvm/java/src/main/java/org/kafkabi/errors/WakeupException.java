package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A {@code wakeup()} ended the call. */
public class WakeupException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public WakeupException(String message) {
        this(message, Constants.KABI_STATUS_INTERRUPTED, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public WakeupException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
