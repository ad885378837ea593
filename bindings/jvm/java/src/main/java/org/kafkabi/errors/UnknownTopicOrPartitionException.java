package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The topic is not there, or has no such partition. */
public class UnknownTopicOrPartitionException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public UnknownTopicOrPartitionException(String message) {
        this(message, Constants.KABI_STATUS_UNKNOWN_TOPIC_OR_PART, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public UnknownTopicOrPartitionException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
