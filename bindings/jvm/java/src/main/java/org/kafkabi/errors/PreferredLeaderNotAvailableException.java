package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The preferred leader is not there. */
public class PreferredLeaderNotAvailableException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public PreferredLeaderNotAvailableException(String message) {
        this(message, Constants.KABI_STATUS_PREFERRED_LEADER_NOT_AVAILABLE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public PreferredLeaderNotAvailableException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
