package org.kafkabi.bench;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;

/** Wall time, processor time of the process, and bytes that its threads allocate, from its making to {@link #figures}. */
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

    /** Messages a second, and a message: microseconds of processor time, and bytes allocated. */
    record Figures(double rate, double micros, double bytes) {}

    Figures figures(long messages) {
        double seconds = (System.nanoTime() - wall) / 1e9;
        double micros = (SYSTEM.getProcessCpuTime() - cpu) / 1e3 / messages;
        return new Figures(messages / seconds, micros, (double) (allocated() - allocated) / messages);
    }
}
