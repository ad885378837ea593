package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The partition does not have this offset. */
public class OffsetOutOfRangeException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public OffsetOutOfRangeException(String message) {
        this(message, Constants.KABI_STATUS_OFFSET_OUT_OF_RANGE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public OffsetOutOfRangeException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
