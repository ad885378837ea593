package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A key or a value can't be turned into bytes. */
public class SerializationException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public SerializationException(String message) {
        this(message, Constants.KABI_STATUS_KEY_SERIALIZATION, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public SerializationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
