package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.lang.ref.WeakReference;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.kafkabi.lowlevel.Kabi;

/** An application server loads the library with each application. */
@Timeout(240)
class ClassLoaderTest {
    private static final Executor IN_A_THREAD = task -> new Thread(task).start();

    /** What runs inside the loader: it sends, reads and closes, and gives the value that came back. */
    public static final class Inside implements Callable<String> {
        /** Made by reflection. */
        public Inside() {}

        @Override
        public String call() throws Exception {
            try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("t", 1)) {
                try (Producer producer = new Producer(cluster.config())) {
                    producer.send(Record.of("t", "loaded")).get(30, TimeUnit.SECONDS);
                }
                try (Consumer consumer = new Consumer(cluster.config().set("auto.offset.reset", "earliest"))) {
                    consumer.assign(List.of(new TopicPartition("t", 0)));
                    return consumer.poll(java.time.Duration.ofSeconds(30)).records().get(0).valueText();
                }
            }
        }
    }

    /**
     * In a thread of its own, as JNA leaves values in those of the thread that uses it; JNA's own thread ends half a
     * minute after the last library is let go.
     */
    @Test
    void theLibraryIsUnloadedAndLoadedAgain() throws Exception {
        WeakReference<ClassLoader> first = CompletableFuture.supplyAsync(ClassLoaderTest::useAndDrop, IN_A_THREAD).get();
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(150);
        while (first.get() != null && System.nanoTime() < end) {
            System.gc();
            Thread.sleep(500);
        }
        assertNull(first.get(), "the class loader is still held");
        CompletableFuture.supplyAsync(ClassLoaderTest::useAndDrop, IN_A_THREAD).get();
    }

    private static WeakReference<ClassLoader> useAndDrop() {
        try (URLClassLoader loader = loader()) {
            Callable<String> inside = inside(loader);
            assertSame(loader, inside.getClass().getClassLoader());
            assertEquals("loaded", inside.call());
            loader.loadClass(Kabi.class.getName()).getMethod("unload").invoke(null);
            return new WeakReference<>(loader);
        } catch (Exception failure) {
            throw new AssertionError(failure);
        }
    }

    /** Its threads would crash without what is bound: the unload waits for them, until it is interrupted. */
    @Test
    void anOpenClientIsNotUnloaded() throws Exception {
        try (EmbeddedCluster cluster = EmbeddedCluster.start().createTopic("open", 1);
                Producer producer = new Producer(cluster.config())) {
            Thread.currentThread().interrupt();
            assertThrows(InterruptedException.class, Kabi::unload);
            assertEquals(0, producer.send(Record.of("open", "v")).get(30, TimeUnit.SECONDS).offset());
        }
    }

    @Test
    void twoLoadersUseTheirOwnAtOnce() throws Exception {
        try (URLClassLoader one = loader(); URLClassLoader two = loader()) {
            assertNotSame(one.loadClass(Inside.class.getName()), two.loadClass(Inside.class.getName()));
            assertEquals("loaded", inside(one).call());
            assertEquals("loaded", inside(two).call());
            assertEquals("loaded", inside(one).call());
        }
    }

    @SuppressWarnings("unchecked")
    private static Callable<String> inside(ClassLoader loader) throws ReflectiveOperationException {
        return (Callable<String>) loader.loadClass(Inside.class.getName()).getDeclaredConstructor().newInstance();
    }

    /** Everything of the class path once more, below the platform's own classes. */
    private static URLClassLoader loader() throws MalformedURLException {
        List<URL> urls = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(System.getProperty("path.separator"))) {
            urls.add(Path.of(entry).toUri().toURL());
        }
        return new URLClassLoader(urls.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
    }
}
