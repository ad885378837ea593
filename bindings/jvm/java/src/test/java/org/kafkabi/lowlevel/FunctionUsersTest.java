package org.kafkabi.lowlevel;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Each generated function is used by the library, or it is said here why not. */
class FunctionUsersTest {
    private static final Path SOURCES = Path.of("src/main/java/org/kafkabi");
    private static final Set<String> GENERATED = Set.of("Functions.java", "JnaFunctions.java", "FfmFunctions.java");
    private static final Pattern CALL = Pattern.compile("\\.(kabi_[a-z_]+)\\(");

    private static final String DRAINED = "a thread of each client's drains its events: no handler, no poll, no descriptor";
    private static final String PACKED = "records cross packed, many at once";
    private static final String OWN_CONFIG = "Config keeps the properties and makes a native configuration for each client";
    private static final String BY_EVENT = "the outcomes of requests come as events";
    private static final String BY_DOCUMENT = "its request is made by kabi_admin_start";

    private static final Map<String, String> WHY_NOT = Map.ofEntries(
            Map.entry("kabi_shutdown", "it would end the clients of other class loaders in the process"),
            Map.entry("kabi_config_unset", OWN_CONFIG),
            Map.entry("kabi_config_dump", OWN_CONFIG),
            Map.entry("kabi_config_handler", DRAINED),
            Map.entry("kabi_producer_poll", DRAINED),
            Map.entry("kabi_producer_event_fd", DRAINED),
            Map.entry("kabi_admin_poll", DRAINED),
            Map.entry("kabi_admin_event_fd", DRAINED),
            Map.entry("kabi_admin_wake", DRAINED),
            Map.entry("kabi_consumer_serve", DRAINED),
            Map.entry("kabi_consumer_event_fd", DRAINED),
            Map.entry("kabi_producer_purge", "close with a time and abort give up what is not delivered"),
            Map.entry("kabi_producer_send", PACKED),
            Map.entry("kabi_producer_send_many", PACKED),
            Map.entry("kabi_consumer_poll", PACKED),
            Map.entry("kabi_batch_headers", PACKED),
            Map.entry("kabi_batch_broker", PACKED + ", and packed records don't tell their broker"),
            Map.entry("kabi_batch_free", PACKED),
            Map.entry("kabi_consumer_commit_record", "commit(Record) commits its offset plus 1: records are copies"),
            Map.entry("kabi_consumer_watermarks_cached", "lag uses what is known; endOffsets asks, as in Apache's client"),
            Map.entry("kabi_admin_result", BY_EVENT),
            Map.entry("kabi_admin_discard", BY_EVENT),
            Map.entry("kabi_admin_call", BY_EVENT),
            Map.entry("kabi_admin_topic_create", BY_DOCUMENT),
            Map.entry("kabi_admin_topic_delete", BY_DOCUMENT),
            Map.entry("kabi_admin_partitions_add", BY_DOCUMENT));

    @Test
    void eachIsUsedOrItIsSaidWhyNot() throws IOException {
        Set<String> unused = new TreeSet<>(Stream.of(Functions.class.getMethods()).map(Method::getName).toList());
        unused.removeAll(used());
        assertEquals(new TreeSet<>(WHY_NOT.keySet()), unused);
    }

    private static Set<String> used() throws IOException {
        Set<String> used = new HashSet<>();
        for (Path file : sources()) {
            Matcher call = CALL.matcher(Files.readString(file));
            while (call.find()) {
                used.add(call.group(1));
            }
        }
        return used;
    }

    private static List<Path> sources() throws IOException {
        try (Stream<Path> files = Files.walk(SOURCES)) {
            return files.filter(file -> file.toString().endsWith(".java")
                    && !GENERATED.contains(file.getFileName().toString())).toList();
        }
    }
}
