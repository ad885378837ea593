package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** There is no offset to begin at, and auto.offset.reset says to fail then. */
public class NoOffsetForPartitionException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public NoOffsetForPartitionException(String message) {
        this(message, Constants.KABI_STATUS_AUTO_OFFSET_RESET, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public NoOffsetForPartitionException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
