package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The group does not know the member any more. */
public class UnknownMemberIdException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public UnknownMemberIdException(String message) {
        this(message, Constants.KABI_STATUS_UNKNOWN_MEMBER_ID, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public UnknownMemberIdException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
