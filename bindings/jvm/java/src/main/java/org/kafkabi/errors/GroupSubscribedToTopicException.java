package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A member of the group is subscribed to the topic. */
public class GroupSubscribedToTopicException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public GroupSubscribedToTopicException(String message) {
        this(message, Constants.KABI_STATUS_GROUP_SUBSCRIBED_TO_TOPIC, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public GroupSubscribedToTopicException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
