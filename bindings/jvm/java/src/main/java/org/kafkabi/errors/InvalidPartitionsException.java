package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The topic can't have this number of partitions. */
public class InvalidPartitionsException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidPartitionsException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_PARTITIONS, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidPartitionsException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
