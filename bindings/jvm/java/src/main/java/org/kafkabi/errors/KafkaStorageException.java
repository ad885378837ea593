package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The broker's disk failed. */
public class KafkaStorageException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public KafkaStorageException(String message) {
        this(message, Constants.KABI_STATUS_KAFKA_STORAGE_ERROR, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public KafkaStorageException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
