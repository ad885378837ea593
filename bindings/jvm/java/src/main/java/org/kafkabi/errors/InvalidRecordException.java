package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The broker refused the record, or another one of its batch. */
public class InvalidRecordException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidRecordException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_RECORD, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidRecordException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
