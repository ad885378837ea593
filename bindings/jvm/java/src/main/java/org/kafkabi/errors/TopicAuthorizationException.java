package org.kafkabi.errors;

import org.kafkabi.lowlevel.Constants;

/** The principal may not do that with the topic. */
public class TopicAuthorizationException extends AuthorizationException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public TopicAuthorizationException(String message) {
        this(message, Constants.KABI_STATUS_TOPIC_AUTHORIZATION_FAILED, 0, null);
    }

    /** As {@link org.kafkabi.KafkaException#KafkaException(String, int, int, Throwable)}. */
    public TopicAuthorizationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
