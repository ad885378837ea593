package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeFalse;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import com.sun.jna.Platform;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Kabi;

/** Where the native library is found, and what is said of one that is not or does not fit: each in a virtual machine of its own. */
@Timeout(240)
class LoadingTest {
    private static final String FOREIGN = File.separator + Path.of("META-INF", "versions", "22");
    private static final String BACKEND = System.getProperty(Kabi.BACKEND_PROPERTY, "jna");

    @TempDir
    Path folder;

    private Path library;
    private String classPath = System.getProperty("java.class.path");
    private String variable;

    /** Loads the library and tells how, or why not. */
    public static final class Child {
        private Child() {}

        /** Prints one line. */
        public static void main(String[] arguments) {
            try {
                Kabi.functions();
                System.out.println(Kabi.backend() + " " + Kabi.origin());
            } catch (UnsatisfiedLinkError error) {
                System.out.println("error " + error.getMessage());
            }
        }
    }

    @BeforeEach
    void copyTheLibrary() throws IOException {
        library = Files.copy(Path.of(Kabi.origin()), folder.resolve("libkafkabi.so"));
    }

    @Test
    void thePropertyIsHeardFirst() throws Exception {
        variable = folder.resolve("nothing").toString();
        assertEquals(BACKEND + " " + library, load(named(library)));
    }

    @Test
    void theVariableIsHeardNext() throws Exception {
        variable = library.toString();
        assertEquals(BACKEND + " " + library, load());
    }

    @Test
    void thenItComesOutOfTheClassPath() throws Exception {
        String name = Platform.RESOURCE_PREFIX + "/libkafkabi.so";
        assumeTrue(Kabi.class.getClassLoader().getResource(name) != null, "SKIPPED: the library is not in the class path");
        String told = load("-Djna.library.path=" + folder);
        assertTrue(told.startsWith(BACKEND + " ") && !told.contains(folder.toString()), told);
    }

    @Test
    void thenWhereTheSystemHasItsLibraries() throws Exception {
        withoutLibrary();
        assertEquals(BACKEND + " " + library, load("-Djna.library.path=" + folder));
    }

    @Test
    void whatWasTriedIsTold() throws Exception {
        withoutLibrary();
        String told = load();
        assumeFalse(told.startsWith(BACKEND + " "), "SKIPPED: the library is installed in this system");
        for (String part : List.of("was not found", Kabi.LIBRARY_PROPERTY, Kabi.LIBRARY_VARIABLE,
                "inside the jar, in " + Platform.RESOURCE_PREFIX, "in the system and in jna.library.path")) {
            assertTrue(told.contains(part), told);
        }
    }

    @Test
    void aFileThatIsNamedMustBeThereAndBeALibrary() throws Exception {
        Path text = Files.writeString(folder.resolve("text.so"), "no library");
        for (Path wrong : List.of(folder.resolve("absent.so"), text, folder)) {
            variable = library.toString(); // fits, but is not asked
            assertFails(load(named(wrong)), wrong + ", named by the system property kafkabi.library, can't be loaded: ");
            variable = wrong.toString();
            assertFails(load(), wrong + ", named by the environment variable KAFKABI_LIBRARY, can't be loaded: ");
        }
    }

    @Test
    void anotherVersionOfTheInterfaceIsRefused() throws Exception {
        withoutLibrary();
        Path kabi = folder.resolve("classes").resolve(Kabi.class.getName().replace('.', '/') + ".class");
        byte[] code = Files.readAllBytes(kabi);
        int at = indexOf(code, ByteBuffer.allocate(5).put((byte) 3).putInt(Constants.KABI_ABI_VERSION).array());
        assertTrue(at > 0, "the class has the version as an Integer among its constants");
        code[at + 2] += 7; // the higher number
        Files.write(kabi, code);
        assertFails(load(named(library)), "the library has version " + (Constants.KABI_ABI_VERSION >>> 16) + "."
                + (Constants.KABI_ABI_VERSION & 0xffff) + " of the C interface, these classes need ");
    }

    @Test
    void backendsThatAreNotThereAreNamed() throws Exception {
        assertFails(load(named(library), "-Dkafkabi.backend=panama"),
                "the system property kafkabi.backend is jna or ffm, not panama");
        copyClassPath(false);
        int release = Runtime.version().feature();
        assertFails(load(named(library), "-Dkafkabi.backend=ffm"), release < 22
                ? "kafkabi.backend=ffm needs JDK 22 or newer, this is " + release
                : "kafkabi.backend=ffm: the jar was built without it, by a JDK before 22, or it does not start: ");
    }

    private static void assertFails(String told, String message) {
        assertTrue(told.startsWith("error " + message), told);
    }

    private static String named(Path library) {
        return "-D" + Kabi.LIBRARY_PROPERTY + "=" + library;
    }

    private static int indexOf(byte[] all, byte[] part) {
        String text = new String(all, StandardCharsets.ISO_8859_1);
        return text.indexOf(new String(part, StandardCharsets.ISO_8859_1));
    }

    private void withoutLibrary() throws IOException {
        copyClassPath(true);
    }

    /** Leaves the native libraries, and the backend ffm if that is wanted, out of the class path: kafkabi's classes are copied. */
    private void copyClassPath(boolean foreign) throws IOException {
        Path classes = Files.createDirectories(folder.resolve("classes"));
        List<String> entries = new ArrayList<>(List.of(classes.toString()));
        for (String entry : classPath.split(File.pathSeparator)) {
            if (!Files.isDirectory(Path.of(entry))) {
                entries.add(entry);
            } else if (foreign || !entry.endsWith(FOREIGN)) {
                copyClasses(Path.of(entry), classes);
            }
        }
        classPath = String.join(File.pathSeparator, entries);
    }

    private static void copyClasses(Path from, Path to) throws IOException {
        Path root = from.resolve("org");
        if (!Files.exists(root)) {
            return;
        }
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : files.collect(Collectors.toList())) {
                Path copy = to.resolve(from.relativize(file).toString());
                if (Files.isDirectory(file)) {
                    Files.createDirectories(copy);
                } else {
                    Files.copy(file, copy);
                }
            }
        }
    }

    /** What the child prints, with these options of its virtual machine. */
    private String load(String... options) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "-Xmx128m", "-XX:+UseSerialGC",
                "-XX:TieredStopAtLevel=1", "-D" + Kabi.BACKEND_PROPERTY + "=" + BACKEND));
        if (Runtime.version().feature() >= 22) {
            command.add("--enable-native-access=ALL-UNNAMED");
        }
        command.addAll(List.of(options));
        command.addAll(List.of("-cp", classPath, Child.class.getName()));
        Path output = folder.resolve("output");
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
        builder.environment().remove(Kabi.LIBRARY_VARIABLE);
        if (variable != null) {
            builder.environment().put(Kabi.LIBRARY_VARIABLE, variable);
        }
        Process process = builder.start();
        if (!process.waitFor(120, TimeUnit.SECONDS)) {
            process.destroyForcibly();
            throw new AssertionError("the virtual machine does not end: " + command);
        }
        String text = Files.readString(output).strip();
        assertEquals(0, process.exitValue(), text);
        assertFalse(text.isEmpty());
        return text;
    }
}
