package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The other members of the group use none of this one's assignors. */
public class InconsistentGroupProtocolException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InconsistentGroupProtocolException(String message) {
        this(message, Constants.KABI_STATUS_INCONSISTENT_GROUP_PROTOCOL, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InconsistentGroupProtocolException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
