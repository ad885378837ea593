package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A broker did not accept who the client says it is. */
public class AuthenticationException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public AuthenticationException(String message) {
        this(message, Constants.KABI_STATUS_AUTHENTICATION, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public AuthenticationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
