package org.kafkabi.bench;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.Locale;
import java.util.function.IntSupplier;
import org.kafkabi.lowlevel.Functions;
import org.kafkabi.lowlevel.Kabi;

/** What a native call costs by itself in processor time, with the backend that the property kafkabi.backend chooses. */
public final class Calls {
    private static final int ROUNDS = 9;
    private static final int CALLS = 1_000_000;

    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private Calls() {}

    public static void main(String[] arguments) {
        long began = System.nanoTime();
        Functions functions = Kabi.functions();
        System.out.printf(Locale.ROOT, "%s on JDK %s: loaded in %.0f ms; no arguments %.0f ns, nine arguments %.0f ns a call%n",
                Kabi.backend(), System.getProperty("java.version"), (System.nanoTime() - began) / 1e6,
                median(functions::kabi_abi_version),
                // A handle that there is none of: the call looks for it and comes back.
                median(() -> functions.kabi_producer_drain(0, 0, 0, 0, 0, 0, 0, 0, 0)));
    }

    private static double median(IntSupplier call) {
        double[] nanos = new double[ROUNDS];
        int sum = 0;
        for (int round = 0; round < ROUNDS; round++) {
            long began = THREADS.getCurrentThreadCpuTime();
            for (int i = 0; i < CALLS; i++) {
                sum += call.getAsInt();
            }
            nanos[round] = (double) (THREADS.getCurrentThreadCpuTime() - began) / CALLS;
        }
        if (sum == 1) {
            System.out.println(sum); // so that the calls are not left out
        }
        Arrays.sort(nanos);
        return nanos[ROUNDS / 2];
    }
}
