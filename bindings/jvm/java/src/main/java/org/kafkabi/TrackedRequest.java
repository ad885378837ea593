package org.kafkabi;

/**
 * A request that a broker of the embedded cluster got.
 *
 * @param micros when, in microseconds of the system's monotonic clock
 * @param broker the broker's id
 * @param request what, a KABI_REQUEST_* number of {@link org.kafkabi.lowlevel.Constants}
 */
public record TrackedRequest(long micros, int broker, int request) {}
