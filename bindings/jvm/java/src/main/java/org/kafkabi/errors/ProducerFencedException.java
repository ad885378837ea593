package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** Another producer has the transactional id now: this one is of no more use. */
public class ProducerFencedException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public ProducerFencedException(String message) {
        this(message, Constants.KABI_STATUS_FENCED, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public ProducerFencedException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
