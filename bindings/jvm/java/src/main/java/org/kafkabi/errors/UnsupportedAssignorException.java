package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The brokers don't have this assignor. */
public class UnsupportedAssignorException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public UnsupportedAssignorException(String message) {
        this(message, Constants.KABI_STATUS_UNSUPPORTED_ASSIGNOR, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public UnsupportedAssignorException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
