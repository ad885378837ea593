package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A policy of the brokers forbids it. */
public class PolicyViolationException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public PolicyViolationException(String message) {
        this(message, Constants.KABI_STATUS_POLICY_VIOLATION, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public PolicyViolationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
