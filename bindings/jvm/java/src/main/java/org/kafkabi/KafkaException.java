package org.kafkabi;

/**
 * What goes wrong with Kafka. Each kind that programs tell apart has a subclass in {@code org.kafkabi.errors}, with
 * the simple name that Apache's client gives it; the others come as this class. All have a code and flags.
 *
 * <p>Misuse comes as Java's own {@link IllegalArgumentException} and {@link IllegalStateException} (a closed client,
 * a call out of order).
 */
public class KafkaException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    static final int RETRIABLE = 1;
    static final int FATAL = 2;
    static final int ABORT_REQUIRED = 4;
    static final int OUTCOME_UNKNOWN = 8;

    /** The status code; positive numbers are the brokers' own. */
    private final int code;

    /** The flags of the C interface, or-ed together. */
    private final int flags;

    /** A failure without a code. */
    public KafkaException(String message) {
        this(message, 0, 0, null);
    }

    /** A failure without a code, and what caused it. */
    public KafkaException(String message, Throwable cause) {
        this(message, 0, 0, cause);
    }

    /**
     * A failure as the native core tells it.
     *
     * @param message a sentence that says what happened, and to what
     * @param code the status code
     * @param flags KABI_ERROR_* of {@link org.kafkabi.lowlevel.Constants}, or-ed together
     * @param cause what caused it, or null
     */
    public KafkaException(String message, int code, int flags, Throwable cause) {
        super(message, cause);
        this.code = code;
        this.flags = flags;
    }

    /**
     * The exception for a code, of the class that its kind has: what a "status" in an answer of {@link Admin#request}
     * tells.
     *
     * @param code a status code other than 0
     * @param message a sentence that says what happened
     */
    public static KafkaException of(int code, String message) {
        return Failures.failure(code, 0, message);
    }

    /**
     * The status code: a KABI_STATUS_* number of {@link org.kafkabi.lowlevel.Constants}. Positive numbers come from
     * brokers and are Kafka's own; 0 if the failure has none.
     */
    public int code() {
        return code;
    }

    /** The code's name, such as "TOPIC_ALREADY_EXISTS"; "OK" if the failure has none. */
    public String name() {
        return Failures.name(code);
    }

    /** Whether the same call may succeed when it is repeated. */
    public boolean retriable() {
        return (flags & RETRIABLE) != 0;
    }

    /** Whether the client is of no more use: close it and make a new one. */
    public boolean fatal() {
        return (flags & FATAL) != 0;
    }

    /** Whether the open transaction can only be aborted. */
    public boolean abortRequired() {
        return (flags & ABORT_REQUIRED) != 0;
    }

    /** Whether it is not known if what was asked for has taken effect. */
    public boolean outcomeUnknown() {
        return (flags & OUTCOME_UNKNOWN) != 0;
    }
}
