package org.kafkabi.bench;

import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.CompilationMXBean;
import java.lang.management.ManagementFactory;

/**
 * Wall time, processor time of the process, and bytes that its threads allocate, from its making to {@link #figures}. Where
 * records are received the wall time counts from the first ones on, the rest from the making.
 */
public final class Meter {
    private static final OperatingSystemMXBean SYSTEM =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    private static final CompilationMXBean COMPILER = ManagementFactory.getCompilationMXBean();

    private final long compiling = COMPILER.getTotalCompilationTime();
    private final long cpu = SYSTEM.getProcessCpuTime();
    private final long allocated = allocated();
    private long wall = System.nanoTime();
    private long before;

    /** Of threads that are alive: those of a client live from its making to its close. */
    private static long allocated() {
        long sum = 0;
        for (long bytes : THREADS.getThreadAllocatedBytes(THREADS.getAllThreadIds())) {
            sum += Math.max(0, bytes);
        }
        return sum;
    }

    /** So many records are received; of the first ones the time is not counted, nor are they. */
    public void received(long messages) {
        if (before == 0 && messages > 0) {
            wall = System.nanoTime();
            before = messages;
        }
    }

    /** Messages a second, and a message: microseconds of processor time, those of the compiler in it, and bytes allocated. */
    record Figures(double rate, double micros, double compiling, double bytes) {}

    Figures figures(long messages) {
        double seconds = (System.nanoTime() - wall) / 1e9;
        double micros = (SYSTEM.getProcessCpuTime() - cpu) / 1e3 / messages;
        double compiled = (COMPILER.getTotalCompilationTime() - compiling) * 1e3 / messages;
        return new Figures((messages - before) / seconds, micros, compiled, (double) (allocated() - allocated) / messages);
    }
}
