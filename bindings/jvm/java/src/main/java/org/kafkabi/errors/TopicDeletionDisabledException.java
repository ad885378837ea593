package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The brokers are set up to delete no topics. */
public class TopicDeletionDisabledException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public TopicDeletionDisabledException(String message) {
        this(message, Constants.KABI_STATUS_TOPIC_DELETION_DISABLED, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public TopicDeletionDisabledException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
