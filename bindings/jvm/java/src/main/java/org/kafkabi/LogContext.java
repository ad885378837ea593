package org.kafkabi;

import java.util.Collections;
import java.util.EnumSet;
import java.util.Set;
import org.kafkabi.lowlevel.Constants;

/** Why a line is in the log: a word of the property {@code debug}. */
public enum LogContext {
    /** "generic". */
    GENERIC(Constants.KABI_DEBUG_GENERIC),
    /** "broker". */
    BROKER(Constants.KABI_DEBUG_BROKER),
    /** "topic". */
    TOPIC(Constants.KABI_DEBUG_TOPIC),
    /** "metadata". */
    METADATA(Constants.KABI_DEBUG_METADATA),
    /** "feature". */
    FEATURE(Constants.KABI_DEBUG_FEATURE),
    /** "queue". */
    QUEUE(Constants.KABI_DEBUG_QUEUE),
    /** "msg". */
    MSG(Constants.KABI_DEBUG_MSG),
    /** "protocol". */
    PROTOCOL(Constants.KABI_DEBUG_PROTOCOL),
    /** "cgrp". */
    CGRP(Constants.KABI_DEBUG_CGRP),
    /** "security". */
    SECURITY(Constants.KABI_DEBUG_SECURITY),
    /** "fetch". */
    FETCH(Constants.KABI_DEBUG_FETCH),
    /** "interceptor". */
    INTERCEPTOR(Constants.KABI_DEBUG_INTERCEPTOR),
    /** "plugin". */
    PLUGIN(Constants.KABI_DEBUG_PLUGIN),
    /** "consumer". */
    CONSUMER(Constants.KABI_DEBUG_CONSUMER),
    /** "admin". */
    ADMIN(Constants.KABI_DEBUG_ADMIN),
    /** "eos". */
    EOS(Constants.KABI_DEBUG_EOS),
    /** "mock". */
    MOCK(Constants.KABI_DEBUG_MOCK);

    private final long bit;

    LogContext(long bit) {
        this.bit = bit;
    }

    static Set<LogContext> of(long bits) {
        EnumSet<LogContext> contexts = EnumSet.noneOf(LogContext.class);
        for (LogContext context : values()) {
            if ((bits & context.bit) != 0) {
                contexts.add(context);
            }
        }
        return Collections.unmodifiableSet(contexts);
    }
}
