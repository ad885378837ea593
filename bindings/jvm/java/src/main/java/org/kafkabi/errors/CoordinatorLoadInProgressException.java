package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The coordinator has just taken over and reads its state. */
public class CoordinatorLoadInProgressException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public CoordinatorLoadInProgressException(String message) {
        this(message, Constants.KABI_STATUS_COORDINATOR_LOAD_IN_PROGRESS, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public CoordinatorLoadInProgressException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
