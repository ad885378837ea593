package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The brokers are too old for this. */
public class UnsupportedVersionException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public UnsupportedVersionException(String message) {
        this(message, Constants.KABI_STATUS_UNSUPPORTED_VERSION, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public UnsupportedVersionException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
