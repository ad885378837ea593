package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A broker refused a configuration. */
public class InvalidConfigurationException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public InvalidConfigurationException(String message) {
        this(message, Constants.KABI_STATUS_INVALID_CONFIG, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public InvalidConfigurationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
