package org.kafkabi;

/** By which protocol a group hands its partitions out. */
public enum GroupType {
    /** One that this library does not know, or that the brokers don't tell. */
    UNKNOWN,
    /** The brokers hand out (KIP-848). */
    CONSUMER,
    /** A member hands out. */
    CLASSIC;

    static GroupType of(String word) {
        return Words.constant(values(), word, UNKNOWN);
    }
}
