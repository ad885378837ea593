package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The request names one thing twice. */
public class DuplicateResourceException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public DuplicateResourceException(String message) {
        this(message, Constants.KABI_STATUS_DUPLICATE_RESOURCE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public DuplicateResourceException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
