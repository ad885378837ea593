package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** There is such a topic already. */
public class TopicExistsException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public TopicExistsException(String message) {
        this(message, Constants.KABI_STATUS_TOPIC_ALREADY_EXISTS, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public TopicExistsException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
