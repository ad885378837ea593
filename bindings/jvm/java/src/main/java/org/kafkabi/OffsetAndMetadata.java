package org.kafkabi;

import java.util.Objects;

/**
 * A committed offset: that of the next record to read.
 *
 * @param offset the offset, 0 or more
 * @param leaderEpoch the leader's epoch of the record before, or -1 if it is not known
 * @param metadata a text of the program's; may be empty
 */
public record OffsetAndMetadata(long offset, int leaderEpoch, String metadata) {
    /** Refuses a negative offset. */
    public OffsetAndMetadata {
        Objects.requireNonNull(metadata, "the metadata of an offset is null");
        if (offset < 0) {
            throw new IllegalArgumentException("offset " + offset + ": offsets count from 0");
        }
    }

    /** An offset without an epoch. */
    public OffsetAndMetadata(long offset, String metadata) {
        this(offset, -1, metadata);
    }

    /** An offset alone. */
    public OffsetAndMetadata(long offset) {
        this(offset, -1, "");
    }
}
