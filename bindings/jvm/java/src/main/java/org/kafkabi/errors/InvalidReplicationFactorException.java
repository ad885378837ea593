package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** There are not as many brokers as copies are wanted. */
public class InvalidReplicationFactorException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidReplicationFactorException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_REPLICATION_FACTOR, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidReplicationFactorException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
