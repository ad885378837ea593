package org.kafkabi;

/** How brokers keep passwords. */
public enum ScramMechanism {
    /** A mechanism that this library does not know. */
    UNKNOWN("unknown"),
    /** With SHA-256. */
    SCRAM_SHA_256("SCRAM-SHA-256"),
    /** With SHA-512. */
    SCRAM_SHA_512("SCRAM-SHA-512");

    private final String text;

    ScramMechanism(String text) {
        this.text = text;
    }

    /** As Kafka writes it, such as "SCRAM-SHA-256". */
    public String text() {
        return text;
    }

    static ScramMechanism of(String text) {
        for (ScramMechanism mechanism : values()) {
            if (mechanism.text.equals(text)) {
                return mechanism;
            }
        }
        return UNKNOWN;
    }
}
