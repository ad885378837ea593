package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The group is in another generation by now. */
public class IllegalGenerationException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public IllegalGenerationException(String message) {
        this(message, Constants.KABI_STATUS_ILLEGAL_GENERATION, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public IllegalGenerationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
