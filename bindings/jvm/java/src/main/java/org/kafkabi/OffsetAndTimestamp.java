package org.kafkabi;

/**
 * The first record at or after a time.
 *
 * @param offset its offset
 * @param timestamp the time that was asked for, in milliseconds since 1970
 */
public record OffsetAndTimestamp(long offset, long timestamp) {}
