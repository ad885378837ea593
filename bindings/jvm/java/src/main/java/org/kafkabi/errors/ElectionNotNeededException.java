package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The partition's leader is the preferred one already. */
public class ElectionNotNeededException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public ElectionNotNeededException(String message) {
        this(message, Constants.KABI_STATUS_ELECTION_NOT_NEEDED, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public ElectionNotNeededException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
