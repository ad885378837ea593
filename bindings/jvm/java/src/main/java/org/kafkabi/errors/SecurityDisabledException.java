package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The brokers have no authorizer. */
public class SecurityDisabledException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public SecurityDisabledException(String message) {
        this(message, Constants.KABI_STATUS_SECURITY_DISABLED, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public SecurityDisabledException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
