package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A record's checksum is wrong. */
public class CorruptRecordException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public CorruptRecordException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_MSG, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public CorruptRecordException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
