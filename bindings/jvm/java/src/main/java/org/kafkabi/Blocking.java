package org.kafkabi;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.Reference;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.BooleanSupplier;
import org.kafkabi.errors.InterruptException;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Kabi;

/**
 * Waits inside the native client in slices, so that an interrupt of the thread ends the call soon. Native calls keep
 * the carrier of a virtual thread busy; those of virtual threads are therefore made by threads of a pool.
 */
final class Blocking {
    static final int SLICE_MILLIS = 50;
    private static final int FORGOTTEN_MILLIS = 30_000;

    private static final BooleanSupplier NEVER = () -> false;
    private static final MethodHandle IS_VIRTUAL = isVirtual();

    private Blocking() {}

    /** A native call that waits up to a number of milliseconds, and can be repeated after KABI_STATUS_TIMED_OUT. */
    @FunctionalInterface
    interface Slice {
        int call(int timeoutMs);
    }

    /** The end of a call's time, by the clock of System.nanoTime. */
    record Deadline(long nanos, boolean never) {
        static Deadline in(long millis) {
            boolean never = millis < 0 || millis > Long.MAX_VALUE / 4_000_000;
            return new Deadline(never ? 0 : System.nanoTime() + millis * 1_000_000, never);
        }

        static Deadline in(Duration timeout) {
            if (timeout.isNegative()) {
                throw new IllegalArgumentException("the time-out " + timeout + " is negative");
            }
            return in(millis(timeout));
        }

        long leftNanos() {
            return never ? Long.MAX_VALUE : Math.max(0, nanos - System.nanoTime());
        }

        boolean passed() {
            return leftNanos() == 0;
        }

        /** What is left in milliseconds, rounded up, at most `millis`. */
        int slice(int millis) {
            return (int) Math.min(millis, (leftNanos() - 1) / 1_000_000 + 1);
        }
    }

    static long millis(Duration timeout) {
        try {
            return timeout.toMillis();
        } catch (ArithmeticException tooLong) {
            return Long.MAX_VALUE;
        }
    }

    /** Repeats the call until it ends by something other than the slice's time or a wake; TIMED_OUT at the deadline. */
    static int run(Deadline deadline, Slice call) {
        return run(deadline, NEVER, call);
    }

    /** As above; ends with INTERRUPTED once `stop` is true, which is asked after each slice. */
    static int run(Deadline deadline, BooleanSupplier stop, Slice call) {
        while (true) {
            if (stop.getAsBoolean()) {
                return Constants.KABI_STATUS_INTERRUPTED;
            }
            checkInterrupt();
            int status = call(call, deadline.slice(SLICE_MILLIS));
            if (status != Constants.KABI_STATUS_TIMED_OUT && status != Constants.KABI_STATUS_INTERRUPTED) {
                return status;
            }
            if (deadline.passed() && !stop.getAsBoolean()) {
                return Constants.KABI_STATUS_TIMED_OUT;
            }
        }
    }

    /**
     * Makes a call that can't be resumed, with all the time that is left, on a thread of the pool. An interrupt, and
     * `stop` when it turns true by a wake, end it: `wake` makes the call return.
     */
    static int whole(Deadline deadline, BooleanSupplier stop, Runnable wake, Slice call) {
        checkInterrupt();
        while (!stop.getAsBoolean()) {
            int timeoutMs = deadline.never() ? -1 : deadline.slice(Integer.MAX_VALUE);
            Future<Integer> outcome = Pool.submit(() -> call.call(timeoutMs));
            int status;
            try {
                status = await(outcome);
            } catch (InterruptedException interrupt) {
                cutShort(outcome, wake);
                throw new InterruptException("the thread was interrupted");
            }
            if (status != Constants.KABI_STATUS_INTERRUPTED) {
                return status;
            }
            // A wake that was meant for another call.
        }
        return Constants.KABI_STATUS_INTERRUPTED;
    }

    /**
     * Makes a call that goes on in the background if the thread is interrupted; the scratch memory is the call's.
     */
    static int handOver(Deadline deadline, Scratch scratch, Slice call) {
        int timeoutMs = deadline.never() ? -1 : deadline.slice(Integer.MAX_VALUE);
        Future<Integer> outcome = Pool.submit(() -> {
            int status = call.call(timeoutMs);
            Reference.reachabilityFence(scratch);
            return status;
        });
        try {
            return await(outcome);
        } catch (InterruptedException interrupt) {
            throw new InterruptException("the thread was interrupted; the close goes on in the background");
        }
    }

    /**
     * Closes a client that nobody closed, on a thread of the pool. A mere free would end the drain of the client's thread of
     * events before the last outcomes are in.
     */
    static void closeForgotten(Slice close, Runnable free) {
        try {
            Pool.submit(() -> close.call(FORGOTTEN_MILLIS));
        } catch (RuntimeException | Error noThread) {
            free.run();
        }
    }

    private static int await(Future<Integer> outcome) throws InterruptedException {
        try {
            return outcome.get();
        } catch (ExecutionException failure) {
            throw new IllegalStateException(failure.getCause());
        }
    }

    /** Wakes the call until it has returned: the memory that it writes to must stay until then. */
    private static void cutShort(Future<Integer> outcome, Runnable wake) {
        while (!outcome.isDone()) {
            wake.run();
            try {
                outcome.get(SLICE_MILLIS, TimeUnit.MILLISECONDS);
            } catch (InterruptedException | ExecutionException | TimeoutException again) {
                // The loop looks whether it is done.
            }
        }
    }

    static void checkInterrupt() {
        if (Thread.interrupted()) {
            throw new InterruptException("the thread was interrupted");
        }
    }

    /** Makes one waiting call, on a thread that may be blocked. */
    static int call(Slice call, int timeoutMs) {
        if (timeoutMs == 0 || !isCurrentVirtual()) {
            return call.call(timeoutMs);
        }
        Future<Integer> outcome = Pool.submit(() -> call.call(timeoutMs));
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return await(outcome);
                } catch (InterruptedException interrupt) {
                    // The call ends within its slice, and what it uses must stay until then.
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static final class Pool {
        /** Idle threads end soon: they keep the class loader of this library. */
        private static final int IDLE_SECONDS = 5;

        private static final ExecutorService THREADS = new ThreadPoolExecutor(
                0, Integer.MAX_VALUE, IDLE_SECONDS, TimeUnit.SECONDS, new SynchronousQueue<>(), task -> {
                    Thread thread = new Thread(task, "kafkabi-blocking");
                    thread.setDaemon(true);
                    return thread;
                });

        static Future<Integer> submit(Callable<Integer> call) {
            Kabi.enter();
            try {
                return THREADS.submit(() -> {
                    try {
                        return call.call();
                    } finally {
                        Kabi.leave();
                    }
                });
            } catch (Throwable none) {
                // The system has no thread to give: the task does not run, and an unload must not wait for it.
                Kabi.leave();
                throw none;
            }
        }
    }

    private static boolean isCurrentVirtual() {
        try {
            return IS_VIRTUAL != null && (boolean) IS_VIRTUAL.invokeExact(Thread.currentThread());
        } catch (Throwable impossible) {
            return false;
        }
    }

    /** Thread.isVirtual, which JDK 17 does not have. */
    private static MethodHandle isVirtual() {
        try {
            return MethodHandles.publicLookup()
                    .findVirtual(Thread.class, "isVirtual", MethodType.methodType(boolean.class));
        } catch (ReflectiveOperationException none) {
            return null;
        }
    }
}
