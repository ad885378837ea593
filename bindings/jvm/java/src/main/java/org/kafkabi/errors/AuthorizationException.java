package org.kafkabi.errors;

import org.kafkabi.KafkaException;

/** The principal may not do that. */
public class AuthorizationException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code 0. */
    public AuthorizationException(String message) {
        this(message, 0, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public AuthorizationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
