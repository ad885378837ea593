package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The partitions can't be placed on these brokers. */
public class InvalidReplicaAssignmentException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidReplicaAssignmentException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_REPLICA_ASSIGNMENT, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidReplicaAssignmentException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
