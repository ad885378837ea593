package org.kafkabi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;
import org.kafkabi.errors.TimeoutException;
import org.kafkabi.lowlevel.Constants;

/** Which exception each status code becomes: the table EXCEPTIONS.md, and Apache's client beside it. */
class ExceptionsTest {
    private static final Path BASE = Path.of(System.getProperty("basedir", "."));
    private static final Path TABLE = BASE.resolve("../EXCEPTIONS.md");

    /** Thrown by Java's own code, or the general case of others. */
    private static final Set<String> WITHOUT_CODE =
            Set.of("AuthorizationException", "ConfigException", "InterruptException");

    /** What Apache's client calls otherwise, by the name of the broker's code. */
    private static final Map<String, String> OTHER_NAMES = Map.of(
            "REQUEST_TIMED_OUT", "TimeoutException");

    /** The codes that have a name, without OK. */
    private static Map<Integer, String> codes() throws IllegalAccessException {
        Map<Integer, String> codes = new TreeMap<>();
        for (Field field : Constants.class.getFields()) {
            if (field.getName().startsWith("KABI_STATUS_") && field.getInt(null) != Constants.KABI_STATUS_OK) {
                String twice = codes.put(field.getInt(null), field.getName().substring("KABI_STATUS_".length()));
                assertEquals(null, twice, field.getName());
            }
        }
        return codes;
    }

    private static String row(int code, String name) {
        RuntimeException thrown = Failures.of(code, 0, "a message");
        boolean retriable = Failures.ofItem(code, "a message").retriable();
        return "| " + code + " | `" + name + "` | `" + thrown.getClass().getSimpleName() + "` | " + (retriable ? "yes" : "")
                + " |\n";
    }

    @Test
    void theTableIsTrue() throws Exception {
        StringBuilder table = new StringBuilder("""
                # Status codes and their exceptions

                What a call throws, or a future ends by, for each status code of the native core; those that brokers send are positive.
                `IllegalStateException` and `IllegalArgumentException` are Java's and have the `KafkaException` as their cause; the outcome
                of a record or a partition is always a `KafkaException`. Codes that are not here become `KafkaException` itself. "Retriable"
                is what the code says by itself; for the outcome of a call the flags of the native core say it. Written and compared by
                ExceptionsTest.

                | code | name | exception | retriable |
                |---:|---|---|---|
                """);
        codes().forEach((code, name) -> table.append(row(code, name)));
        if (System.getenv("KAFKABI_WRITE_TABLES") != null) {
            Files.writeString(TABLE, table);
        }
        assertEquals(Files.readString(TABLE), table.toString(),
                "run this test with KAFKABI_WRITE_TABLES=yes, which writes the table anew");
    }

    @Test
    void eachHasItsCodeItsFlagsAndItsMessage() throws Exception {
        for (int code : codes().keySet()) {
            int all = KafkaException.RETRIABLE | KafkaException.FATAL | KafkaException.ABORT_REQUIRED
                    | KafkaException.OUTCOME_UNKNOWN;
            KafkaException every = Failures.failure(code, all, "what happened");
            assertEquals(code, every.code());
            assertEquals("what happened", every.getMessage());
            assertTrue(every.retriable() && every.fatal() && every.abortRequired() && every.outcomeUnknown());
            KafkaException none = Failures.failure(code, 0, "what happened");
            assertFalse(none.retriable() || none.fatal() || none.abortRequired() || none.outcomeUnknown());
            assertFalse(Failures.failure(code, 0).getMessage().isBlank(), "code " + code + " has no text");
            RuntimeException thrown = Failures.of(code, all, "what happened");
            KafkaException inside = (KafkaException) (thrown instanceof KafkaException ? thrown : thrown.getCause());
            assertEquals(code, inside.code());
            assertEquals(every.name(), codes().get(code));
        }
    }

    /** Each class of org.kafkabi.errors is what some code becomes. */
    @Test
    void noClassIsThereInVain() throws Exception {
        Set<String> used = new TreeSet<>(WITHOUT_CODE);
        for (int code : codes().keySet()) {
            used.add(Failures.failure(code, 0, "").getClass().getSimpleName());
        }
        used.remove("KafkaException");
        try (Stream<Path> files = Files.list(BASE.resolve("src/main/java/org/kafkabi/errors"))) {
            Set<String> there = files.map(file -> file.getFileName().toString().replace(".java", ""))
                    .filter(name -> !name.equals("package-info")).collect(Collectors.toCollection(TreeSet::new));
            assertEquals(there, used);
        }
    }

    /** Programs change an import: where there is a class of its own, it has the name that Apache's client gives it. */
    @Test
    void theNamesAreThoseOfApachesClient() throws Exception {
        List<String> wrong = new ArrayList<>();
        for (Map.Entry<Integer, String> entry : codes().entrySet()) {
            int code = entry.getKey();
            if (code <= 0 || code > Short.MAX_VALUE || Errors.forCode((short) code).code() != code) {
                continue;
            }
            Errors theirs = Errors.forCode((short) code);
            KafkaException ours = Failures.ofItem(code, "");
            String name = OTHER_NAMES.getOrDefault(entry.getValue(), theirs.exception().getClass().getSimpleName());
            String own = ours.getClass().getSimpleName();
            if (!own.equals("KafkaException") && !own.equals(name)) {
                wrong.add(entry.getValue() + ": " + own + " here, there " + name);
            }
            boolean retriable = theirs.exception() instanceof RetriableException;
            if (ours.retriable() != retriable) {
                wrong.add(entry.getValue() + ": retriable " + ours.retriable() + " here, there " + retriable);
            }
        }
        assertEquals(List.of(), wrong);
    }

    @Test
    void unknownCodesAreKafkaExceptions() {
        KafkaException future = Failures.failure(32_000, 0);
        assertEquals(KafkaException.class, future.getClass());
        assertEquals(32_000, future.code());
        assertEquals(TimeoutException.class, KafkaException.of(Constants.KABI_STATUS_TIMED_OUT, "late").getClass());
    }
}
