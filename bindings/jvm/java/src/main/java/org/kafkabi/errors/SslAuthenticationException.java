package org.kafkabi.errors;

import org.kafkabi.lowlevel.Constants;

/** The TLS connection could not be made. */
public class SslAuthenticationException extends AuthenticationException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public SslAuthenticationException(String message) {
        this(message, Constants.KABI_STATUS_SSL, 0, null);
    }

    /** As {@link org.kafkabi.KafkaException#KafkaException(String, int, int, Throwable)}. */
    public SslAuthenticationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
