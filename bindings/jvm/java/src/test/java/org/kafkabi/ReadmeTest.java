package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.tools.ToolProvider;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What the guide shows compiles and does what it says. */
@Timeout(120)
class ReadmeTest {
    private static final Path GUIDE = Path.of(System.getProperty("basedir", ".")).resolve("../README.md");
    private static final Pattern BLOCK = Pattern.compile("```java\n(.*?)```", Pattern.DOTALL);

    @TempDir
    Path folder;

    @Test
    void theJavaBlockRuns() throws Exception {
        Matcher block = BLOCK.matcher(Files.readString(GUIDE));
        assertTrue(block.find(), "the guide has a block of Java");
        Path source = Files.writeString(folder.resolve("Shown.java"), """
                import java.time.Duration;
                import java.util.List;
                import org.kafkabi.Consumer;
                import org.kafkabi.EmbeddedCluster;
                import org.kafkabi.Producer;
                import org.kafkabi.Record;

                public class Shown {
                    public static void main(String[] arguments) throws Exception {
                %s
                    }
                }
                """.formatted(block.group(1)));
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        int status = ToolProvider.getSystemJavaCompiler().run(null, said, said, "-proc:none", "-Xlint:all", "-Werror", "-d",
                folder.toString(), "-cp", System.getProperty("java.class.path"), source.toString());
        assertEquals(0, status, said::toString);
        assertTrue(!block.find(), "only one block of Java is tried");

        PrintStream screen = System.out;
        ByteArrayOutputStream shown = new ByteArrayOutputStream();
        try (URLClassLoader loader = new URLClassLoader(new URL[] {folder.toUri().toURL()})) {
            System.setOut(new PrintStream(shown, true, StandardCharsets.UTF_8));
            loader.loadClass("Shown").getMethod("main", String[].class).invoke(null, (Object) new String[0]);
        } finally {
            System.setOut(screen);
        }
        assertEquals("0: hello\n1: salut\n2: moin\n", shown.toString(StandardCharsets.UTF_8));
    }
}
