package org.kafkabi.errors;

import org.kafkabi.lowlevel.Constants;

/** The producer's memory was full for all of max.block.ms: the record was not taken. */
public class BufferExhaustedException extends TimeoutException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public BufferExhaustedException(String message) {
        this(message, Constants.KABI_STATUS_QUEUE_FULL, 0, null);
    }

    /** As {@link org.kafkabi.KafkaException#KafkaException(String, int, int, Throwable)}. */
    public BufferExhaustedException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
