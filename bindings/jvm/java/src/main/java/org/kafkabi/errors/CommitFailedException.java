package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The group has given the partitions to another member: the commit did not take effect. */
public class CommitFailedException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public CommitFailedException(String message) {
        this(message, Constants.KABI_STATUS_ASSIGNMENT_LOST, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public CommitFailedException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
