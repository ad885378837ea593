package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The record is larger than message.max.bytes, here or at the broker. */
public class RecordTooLargeException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public RecordTooLargeException(String message) {
        this(message, Constants.KABI_STATUS_MSG_SIZE_TOO_LARGE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public RecordTooLargeException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
