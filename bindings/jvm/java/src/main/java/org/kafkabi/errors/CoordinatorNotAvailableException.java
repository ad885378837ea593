package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** There is no coordinator now. */
public class CoordinatorNotAvailableException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public CoordinatorNotAvailableException(String message) {
        this(message, Constants.KABI_STATUS_COORDINATOR_NOT_AVAILABLE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public CoordinatorNotAvailableException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
