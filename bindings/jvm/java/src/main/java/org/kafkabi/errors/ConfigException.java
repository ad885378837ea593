package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** A property is unknown, or its value is not one that it takes. The message names the likely one, or the values. */
public class ConfigException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of a wrong argument. */
    public ConfigException(String message) {
        this(message, null);
    }

    /** With the code of a wrong argument, and what caused it. */
    public ConfigException(String message, Throwable cause) {
        super(message, Constants.KABI_STATUS_ARGUMENT, 0, cause);
    }
}
