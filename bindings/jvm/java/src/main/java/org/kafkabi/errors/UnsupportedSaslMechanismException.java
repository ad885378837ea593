package org.kafkabi.errors;

import org.kafkabi.lowlevel.Constants;

/** The broker does not have the SASL mechanism. */
public class UnsupportedSaslMechanismException extends AuthenticationException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public UnsupportedSaslMechanismException(String message) {
        this(message, Constants.KABI_STATUS_UNSUPPORTED_SASL_MECHANISM, 0, null);
    }

    /** As {@link org.kafkabi.KafkaException#KafkaException(String, int, int, Throwable)}. */
    public UnsupportedSaslMechanismException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
