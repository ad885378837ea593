package org.kafkabi.errors;

import org.kafkabi.lowlevel.Constants;

/** The bytes of a record can't be turned into a key or a value. */
public class RecordDeserializationException extends SerializationException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public RecordDeserializationException(String message) {
        this(message, Constants.KABI_STATUS_KEY_DESERIALIZATION, 0, null);
    }

    /** As {@link org.kafkabi.KafkaException#KafkaException(String, int, int, Throwable)}. */
    public RecordDeserializationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
