package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A quota of the brokers is used up. */
public class ThrottlingQuotaExceededException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public ThrottlingQuotaExceededException(String message) {
        this(message, Constants.KABI_STATUS_THROTTLING_QUOTA_EXCEEDED, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public ThrottlingQuotaExceededException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
