package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The brokers don't accept such a credential. */
public class UnacceptableCredentialException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public UnacceptableCredentialException(String message) {
        this(message, Constants.KABI_STATUS_UNACCEPTABLE_CREDENTIAL, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public UnacceptableCredentialException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
