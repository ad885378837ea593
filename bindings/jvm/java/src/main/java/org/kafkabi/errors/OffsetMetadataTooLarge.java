package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The metadata of a committed offset is too long. */
public class OffsetMetadataTooLarge extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public OffsetMetadataTooLarge(String message) {
        this(message, Constants.KABI_STATUS_OFFSET_METADATA_TOO_LARGE, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public OffsetMetadataTooLarge(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
