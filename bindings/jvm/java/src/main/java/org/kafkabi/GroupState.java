package org.kafkabi;

/** What a group is doing. */
public enum GroupState {
    /** Something that this library does not know, such as what newer brokers tell. */
    UNKNOWN,
    /** Members join or leave. */
    PREPARING_REBALANCE,
    /** Members wait for their partitions. */
    COMPLETING_REBALANCE,
    /** Members have their partitions. */
    STABLE,
    /** It does not exist, or no longer. */
    DEAD,
    /** It has no members. */
    EMPTY;

    static GroupState of(String word) {
        return Words.constant(values(), word, UNKNOWN);
    }
}
