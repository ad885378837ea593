package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** Another broker is the coordinator by now. */
public class NotCoordinatorException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public NotCoordinatorException(String message) {
        this(message, Constants.KABI_STATUS_NOT_COORDINATOR, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public NotCoordinatorException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
