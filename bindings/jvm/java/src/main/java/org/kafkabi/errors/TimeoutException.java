package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The time was up. Whether it has taken effect is told by {@link #outcomeUnknown()}. */
public class TimeoutException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public TimeoutException(String message) {
        this(message, Constants.KABI_STATUS_TIMED_OUT, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public TimeoutException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
