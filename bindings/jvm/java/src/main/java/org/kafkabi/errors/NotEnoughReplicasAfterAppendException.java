package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The record was written to fewer copies than min.insync.replicas asks for. */
public class NotEnoughReplicasAfterAppendException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public NotEnoughReplicasAfterAppendException(String message) {
        this(message, Constants.KABI_STATUS_NOT_ENOUGH_REPLICAS_AFTER_APPEND, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public NotEnoughReplicasAfterAppendException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
