package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The partition has no leader now. */
public class LeaderNotAvailableException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public LeaderNotAvailableException(String message) {
        this(message, Constants.KABI_STATUS_LEADER_NOT_AVAILABLE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public LeaderNotAvailableException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
