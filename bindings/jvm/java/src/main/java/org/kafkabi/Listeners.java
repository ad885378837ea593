package org.kafkabi;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.function.Consumer;
import org.kafkabi.lowlevel.Constants;

/** What a configuration wants to be told of; immutable. What nobody listens to goes to the System.Logger. */
record Listeners(
        Consumer<KafkaException> onError,
        Consumer<LogLine> onLog,
        Consumer<String> onStatistics,
        Consumer<Throttle> onThrottle,
        TokenProvider tokenProvider) {

    static final Listeners NONE = new Listeners(null, null, null, null, null);

    void error(Logger logger, KafkaException error) {
        if (onError != null) {
            onError.accept(error);
        } else {
            // The client's log tells of each broker already.
            Level level = error.fatal() ? Level.ERROR
                    : error.code() == Constants.KABI_STATUS_TRANSPORT ? Level.DEBUG : Level.WARNING;
            logger.log(level, error.name() + ": " + error.getMessage());
        }
    }

    void log(Logger logger, int level, String text, long contexts) {
        LogLine line = new LogLine(level, text, LogContext.of(contexts));
        if (onLog != null) {
            onLog.accept(line);
        } else {
            logger.log(line.loggerLevel(), text);
        }
    }

    void statistics(String json) {
        if (onStatistics != null) {
            onStatistics.accept(json);
        }
    }

    void throttle(String broker, int id, long millis) {
        if (onThrottle != null) {
            onThrottle.accept(new Throttle(broker, id, millis));
        }
    }
}
