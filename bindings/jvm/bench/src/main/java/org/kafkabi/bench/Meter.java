package org.kafkabi.bench;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Locale;

/** Wall time, processor time of the process, and bytes that its threads allocate, from its making to {@link #report}. */
final class Meter {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private final long wall = System.nanoTime();
    private final long cpu = SYSTEM.getProcessCpuTime();
    private final long allocated = allocated();

    /** Of threads that are alive: those of the clients live from the first round to the last. */
    private static long allocated() {
        long sum = 0;
        for (long bytes : THREADS.getThreadAllocatedBytes(THREADS.getAllThreadIds())) {
            sum += Math.max(0, bytes);
        }
        return sum;
    }

    /** A line: what, messages a second, microseconds of processor time and bytes allocated a message. */
    void report(String what, int round, long messages) {
        double seconds = (System.nanoTime() - wall) / 1e9;
        double micros = (SYSTEM.getProcessCpuTime() - cpu) / 1e3 / messages;
        double bytes = (double) (allocated() - allocated) / messages;
        System.out.printf(Locale.ROOT, "%-24s round %d  %9.0f msg/s  %6.3f us CPU  %7.1f B allocated%n", what, round,
                messages / seconds, micros, bytes);
    }
}
