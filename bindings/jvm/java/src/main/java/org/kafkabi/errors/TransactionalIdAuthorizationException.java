package org.kafkabi.errors;

import org.kafkabi.lowlevel.Constants;

/** The principal may not use the transactional id. */
public class TransactionalIdAuthorizationException extends AuthorizationException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public TransactionalIdAuthorizationException(String message) {
        this(message, Constants.KABI_STATUS_TRANSACTIONAL_ID_AUTHORIZATION_FAILED, 0, null);
    }

    /** As {@link org.kafkabi.KafkaException#KafkaException(String, int, int, Throwable)}. */
    public TransactionalIdAuthorizationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
