package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The broker has no copy of the partition. */
public class ReplicaNotAvailableException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public ReplicaNotAvailableException(String message) {
        this(message, Constants.KABI_STATUS_REPLICA_NOT_AVAILABLE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public ReplicaNotAvailableException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
