package org.kafkabi;

/**
 * A broker slows the client down, because of a quota.
 *
 * @param broker the broker's name
 * @param brokerId its id
 * @param millis for how long; 0 says that it has ended
 */
public record Throttle(String broker, int brokerId, long millis) {}
