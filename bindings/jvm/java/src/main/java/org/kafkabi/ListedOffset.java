package org.kafkabi;

import java.util.Map;

/**
 * An offset that was looked up.
 *
 * @param offset the offset, or -1 if no record is like that
 * @param timestamp the record's timestamp, or -1 where it was not asked by
 * @param leaderEpoch the leader's epoch of the record, or -1 if it is not known
 */
public record ListedOffset(long offset, long timestamp, int leaderEpoch) {
    static ListedOffset of(Map<String, Object> document) {
        return new ListedOffset(Documents.longOr(document, "offset"), Documents.longOr(document, "timestamp"),
                (int) Documents.longOr(document, "leader_epoch"));
    }
}
