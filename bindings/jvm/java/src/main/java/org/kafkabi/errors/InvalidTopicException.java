package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** No topic may have this name. */
public class InvalidTopicException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidTopicException(String message) {
        this(message, Constants.KABI_STATUS_TOPIC_EXCEPTION, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidTopicException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
