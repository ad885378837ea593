package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The partition has another leader by now. */
public class NotLeaderOrFollowerException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public NotLeaderOrFollowerException(String message) {
        this(message, Constants.KABI_STATUS_NOT_LEADER_FOR_PARTITION, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public NotLeaderOrFollowerException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
