package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The coordinator knows the transactional id by another producer. */
public class InvalidPidMappingException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidPidMappingException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_PRODUCER_ID_MAPPING, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidPidMappingException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
