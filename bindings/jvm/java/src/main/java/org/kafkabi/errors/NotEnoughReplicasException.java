package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** Fewer copies are in step than min.insync.replicas asks for. */
public class NotEnoughReplicasException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public NotEnoughReplicasException(String message) {
        this(message, Constants.KABI_STATUS_NOT_ENOUGH_REPLICAS, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public NotEnoughReplicasException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
