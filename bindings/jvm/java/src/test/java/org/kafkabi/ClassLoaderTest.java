package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An application server loads the library with each application. */
@Timeout(240)
class ClassLoaderTest {
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

    /** Each loader binds the library anew, and works after the others are closed. */
    @Test
    void theLibraryIsLoadedAgainInANewLoader() throws Exception {
        for (int time = 0; time < 3; time++) {
            try (URLClassLoader loader = loader()) {
                Callable<String> inside = inside(loader);
                assertSame(loader, inside.getClass().getClassLoader());
                assertEquals("loaded", inside.call());
            }
            System.gc();
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
