package org.kafkabi.errors;

import org.kafkabi.lowlevel.Constants;

/** A broker refused the user or the password. */
public class SaslAuthenticationException extends AuthenticationException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public SaslAuthenticationException(String message) {
        this(message, Constants.KABI_STATUS_SASL_AUTHENTICATION_FAILED, 0, null);
    }

    /** As {@link org.kafkabi.KafkaException#KafkaException(String, int, int, Throwable)}. */
    public SaslAuthenticationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
