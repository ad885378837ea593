package org.kafkabi;

import java.lang.System.Logger.Level;
import java.util.Set;

/**
 * A line of the native client's log.
 *
 * @param level syslog's level: 0 (emergency) to 7 (debug)
 * @param text the line
 * @param contexts which words of the property debug it comes because of; empty for a line that comes without it too
 */
public record LogLine(int level, String text, Set<LogContext> contexts) {
    /** The level as java.lang.System.Logger has it. */
    public Level loggerLevel() {
        if (level <= 3) {
            return Level.ERROR;
        }
        return switch (level) {
            case 4 -> Level.WARNING;
            case 5, 6 -> Level.INFO;
            default -> Level.DEBUG;
        };
    }
}
