package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A batch of records is larger than the broker allows. */
public class RecordBatchTooLargeException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public RecordBatchTooLargeException(String message) {
        this(message, Constants.KABI_STATUS_RECORD_LIST_TOO_LARGE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public RecordBatchTooLargeException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
