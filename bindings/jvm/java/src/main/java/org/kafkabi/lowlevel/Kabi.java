package org.kafkabi.lowlevel;

import com.sun.jna.Native;
import com.sun.jna.NativeLibrary;
import com.sun.jna.Platform;
import com.sun.jna.Pointer;
import java.io.File;
import java.io.IOException;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Finds the native library, loads it once in this class loader, and checks that it fits.
 *
 * <p>It is looked for, in this order: in the file that the system property {@code kafkabi.library} names; in the
 * file that the environment variable {@code KAFKABI_LIBRARY} names; inside the jar, below JNA's name of the
 * platform (such as {@code linux-x86-64}); where the system and {@code jna.library.path} have their libraries. A
 * file that is named must be there and fit: nothing else is tried in its place.
 */
public final class Kabi {
    /** The system property that names the library's file. */
    public static final String LIBRARY_PROPERTY = "kafkabi.library";

    /** The environment variable that names the library's file. */
    public static final String LIBRARY_VARIABLE = "KAFKABI_LIBRARY";

    /**
     * The system property that says how native functions are called: {@code jna}, the default, which runs on every JDK,
     * or {@code ffm}, the Foreign Function and Memory API of JDK 22 and newer.
     */
    public static final String BACKEND_PROPERTY = "kafkabi.backend";

    private static final long UNLOAD_NANOS = 30_000_000_000L;

    private Kabi() {}

    /**
     * The functions of the loaded library.
     *
     * @throws UnsatisfiedLinkError if there is none, or one that does not fit; the message lists what was tried
     */
    public static Functions functions() {
        return Holder.FUNCTIONS;
    }

    /** Where the loaded library came from. */
    public static String origin() {
        return Holder.LIBRARY.getFile() == null ? "the system" : Holder.LIBRARY.getFile().getPath();
    }

    /** How the functions are called: {@code jna} or {@code ffm}. */
    public static String backend() {
        return Holder.FUNCTIONS instanceof JnaFunctions ? "jna" : "ffm";
    }

    private static final class Holder {
        static final NativeLibrary LIBRARY = load();
        static final Functions FUNCTIONS = check(bind(LIBRARY));
    }

    private static Functions bind(NativeLibrary library) {
        String backend = System.getProperty(BACKEND_PROPERTY, "jna");
        return switch (backend) {
            case "jna" -> new JnaFunctions(library);
            case "ffm" -> foreign();
            default -> throw new UnsatisfiedLinkError(
                    "the system property " + BACKEND_PROPERTY + " is jna or ffm, not " + backend);
        };
    }

    /** These classes are compiled for JDK 17: the one that needs a newer one is found by its name. */
    private static Functions foreign() {
        int release = Runtime.version().feature();
        if (release < 22) {
            throw new UnsatisfiedLinkError(BACKEND_PROPERTY + "=ffm needs JDK 22 or newer, this is " + release);
        }
        try {
            return (Functions) Class.forName("org.kafkabi.lowlevel.FfmFunctions").getDeclaredConstructor().newInstance();
        } catch (ReflectiveOperationException | LinkageError error) {
            UnsatisfiedLinkError better = new UnsatisfiedLinkError(
                    BACKEND_PROPERTY + "=ffm: the jar was built without it, by a JDK before 22, or it does not start: " + error);
            better.initCause(error);
            throw better;
        }
    }

    /** Threads of this library that run or are about to. Who calls {@link #enter} calls {@link #leave} at the thread's end. */
    private static final AtomicInteger THREADS = new AtomicInteger();

    /** A thread of this library, which calls functions, is about to start. */
    public static void enter() {
        THREADS.incrementAndGet();
    }

    /** A thread of this library makes no more calls. */
    public static void leave() {
        THREADS.decrementAndGet();
    }

    /** Starts a thread of this library, which calls {@link #leave} at its end. */
    public static void start(Thread thread) {
        enter();
        try {
            thread.start();
        } catch (Throwable none) {
            // The system has no thread to give: an unload must not wait for it.
            leave();
            throw none;
        }
    }

    /**
     * Lets go of what was bound, so that this class loader can be collected: for programs that are dropped together with
     * it, as in application servers. All clients have to be closed, and no thread may be in a call; it waits for this
     * library's own threads to end. Who calls a function after gets an {@link UnsatisfiedLinkError}. The native library
     * itself stays; another class loader can bind it again.
     *
     * @throws IllegalStateException if threads of clients still run after 30 seconds: one was not closed
     */
    public static void unload() throws InterruptedException {
        long end = System.nanoTime() + UNLOAD_NANOS;
        while (THREADS.get() > 0) {
            if (System.nanoTime() > end) {
                throw new IllegalStateException(
                        THREADS.get() + " threads of kafkabi still run: close all clients before the unload");
            }
            Thread.sleep(1);
        }
        if (Holder.FUNCTIONS instanceof JnaFunctions) {
            JnaFunctions.unregister();
        }
        Holder.LIBRARY.close();
    }

    /** Where a function begins, for the backend that binds by addresses. */
    static long address(String function) {
        return Pointer.nativeValue(Holder.LIBRARY.getFunction(function));
    }

    private static NativeLibrary load() {
        String named = System.getProperty(LIBRARY_PROPERTY);
        if (named != null && !named.isEmpty()) {
            return open(named, "the system property " + LIBRARY_PROPERTY);
        }
        named = System.getenv(LIBRARY_VARIABLE);
        if (named != null && !named.isEmpty()) {
            return open(named, "the environment variable " + LIBRARY_VARIABLE);
        }
        List<String> tried = new ArrayList<>();
        try {
            File file = Native.extractFromResourcePath("kafkabi", Kabi.class.getClassLoader());
            return NativeLibrary.getInstance(file.getPath(), Kabi.class.getClassLoader());
        } catch (IOException | UnsatisfiedLinkError error) {
            tried.add("inside the jar, in " + Platform.RESOURCE_PREFIX + ": " + error.getMessage());
        }
        try {
            return NativeLibrary.getInstance("kafkabi", Kabi.class.getClassLoader());
        } catch (UnsatisfiedLinkError error) {
            tried.add("in the system and in jna.library.path: " + error.getMessage());
        }
        throw new UnsatisfiedLinkError(
                "kafkabi's native library was not found. Name its file by the system property " + LIBRARY_PROPERTY
                        + " or the environment variable " + LIBRARY_VARIABLE + ". Tried " + String.join("; ", tried));
    }

    private static NativeLibrary open(String file, String where) {
        try {
            return NativeLibrary.getInstance(new File(file).getAbsolutePath(), Kabi.class.getClassLoader());
        } catch (UnsatisfiedLinkError error) {
            UnsatisfiedLinkError better =
                    new UnsatisfiedLinkError(file + ", named by " + where + ", can't be loaded: " + error.getMessage());
            better.initCause(error);
            throw better;
        }
    }

    private static Functions check(Functions functions) {
        int[] sizes = Layouts.sizes();
        ByteBuffer buffer = Memory.allocate(4 * sizes.length);
        for (int i = 0; i < sizes.length; i++) {
            buffer.putInt(4 * i, sizes[i]);
        }
        int status = functions.kabi_abi_check(Constants.KABI_ABI_VERSION, Memory.address(buffer), sizes.length, 0);
        Reference.reachabilityFence(buffer);
        if (status != Constants.KABI_STATUS_OK) {
            int version = functions.kabi_abi_version();
            throw new UnsatisfiedLinkError("the library has version " + (version >>> 16) + "." + (version & 0xffff)
                    + " of the C interface, these classes need " + (Constants.KABI_ABI_VERSION >>> 16) + "."
                    + (Constants.KABI_ABI_VERSION & 0xffff));
        }
        return functions;
    }
}
