package org.kafkabi;

import java.lang.System.Logger.Level;

/**
 * A line of the native client's log.
 *
 * @param level syslog's level: 0 (emergency) to 7 (debug)
 * @param text the line
 */
public record LogLine(int level, String text) {
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
