package org.kafkabi;

import java.lang.ref.Cleaner;

/** The Cleaner of the library. What is registered only hands over: it never waits for brokers. */
final class Reaper {
    private static final Cleaner CLEANER = Cleaner.create();

    private Reaper() {}

    static Cleaner.Cleanable register(Object object, Runnable handOver) {
        return CLEANER.register(object, handOver);
    }
}
