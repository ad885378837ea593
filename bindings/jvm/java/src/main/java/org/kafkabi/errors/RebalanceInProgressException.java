package org.kafkabi.errors;

import org.kafkabi.KafkaException;
import org.kafkabi.lowlevel.Constants;

/** The group is giving out its partitions anew: poll, then try again. */
public class RebalanceInProgressException extends KafkaException {
    private static final long serialVersionUID = 1L;

    /** With the code of its kind. */
    public RebalanceInProgressException(String message) {
        this(message, Constants.KABI_STATUS_REBALANCE_IN_PROGRESS, 0, null);
    }

    /** As {@link KafkaException#KafkaException(String, int, int, Throwable)}. */
    public RebalanceInProgressException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
    }
}
