package org.kafkabi.lowlevel;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.Reference;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Every generated function, with handles that are zero, of another type, freed, closed, or never were. */
@Timeout(120)
class EveryFunctionTest {
    private static final Functions KABI = Kabi.functions();

    /** They take no handle; shutdown would free what other tests have. */
    private static final Set<String> WITHOUT_HANDLE = Set.of("kabi_abi_version", "kabi_version", "kabi_librdkafka_version",
            "kabi_abi_check", "kabi_error_name", "kabi_error_text", "kabi_shutdown", "kabi_config_new", "kabi_config_describe",
            "kabi_cluster_new");

    /** They work on after a close, until the last event is drained, or release. */
    private static final List<String> AFTER_CLOSE = List.of("_poll", "_drain", "_event_fd", "_serve", "_close", "_free");

    private final ByteBuffer out = Memory.allocate(8);

    @Test
    void wrongHandlesGiveAStatus() throws Exception {
        Map<String, Long> closed = closedHandles();
        int called = 0;
        for (Method function : functions()) {
            if (WITHOUT_HANDLE.contains(function.getName())) {
                continue;
            }
            List<Long> wrong = new ArrayList<>(List.of(0L, 1L, -1L, Long.MIN_VALUE, 0x7fff_ffff_ffffL));
            closed.forEach((noun, handle) -> {
                if (!takes(function.getName(), noun)) {
                    wrong.add(handle);
                }
            });
            for (long handle : wrong) {
                Object status = call(function, handle);
                if (function.getReturnType() == int.class) {
                    assertTrue((int) status < -1000, function.getName() + " of " + handle + " gave " + status);
                }
                called++;
            }
        }
        assertTrue(called > 500, "only " + called + " calls");
        closed.forEach((noun, handle) -> free(noun, handle));
    }

    /** Open ones, of clients that work on afterwards. */
    @Test
    void openHandlesOfAnotherTypeGiveAStatus() throws Exception {
        Map<String, Long> open = openHandles();
        int called = 0;
        for (Method function : functions()) {
            for (Map.Entry<String, Long> entry : open.entrySet()) {
                boolean foreign = !WITHOUT_HANDLE.contains(function.getName()) && !takes(function.getName(), entry.getKey())
                        && !function.getName().contains("_" + entry.getKey());
                if (!foreign) {
                    continue;
                }
                Object status = call(function, entry.getValue());
                if (function.getReturnType() == int.class) {
                    assertTrue((int) status < -1000,
                            function.getName() + " of a " + entry.getKey() + " gave " + status);
                }
                called++;
            }
        }
        assertTrue(called > 500, "only " + called + " calls");
        // Nothing was closed or freed by a function of another type.
        assertEquals(0, KABI.kabi_producer_wake(open.get("producer"), 0));
        assertEquals(0, KABI.kabi_consumer_wake(open.get("consumer"), 0));
        set(open.get("config"), "client.id", "still there");
        assertEquals(0, KABI.kabi_producer_close(open.get("producer"), 30_000, 0, 0));
        assertEquals(0, KABI.kabi_consumer_close(open.get("consumer"), 30_000, 0));
        assertEquals(0, KABI.kabi_admin_close(open.get("admin"), 30_000, 0));
        open.forEach((noun, handle) -> free(noun, handle));
    }

    @Test
    void closedAndFreedHandlesGiveAStatus() throws Exception {
        Map<String, Long> closed = closedHandles();
        for (Method function : functions()) {
            for (Map.Entry<String, Long> entry : closed.entrySet()) {
                boolean fits = takes(function.getName(), entry.getKey());
                if (fits && AFTER_CLOSE.stream().noneMatch(function.getName()::endsWith)
                        && !entry.getKey().equals("config") && !entry.getKey().equals("cluster")) {
                    assertNotEquals(0, call(function, entry.getValue()), function.getName());
                }
            }
        }
        closed.forEach((noun, handle) -> free(noun, handle));
        for (Method function : functions()) {
            for (Map.Entry<String, Long> entry : closed.entrySet()) {
                boolean fits = takes(function.getName(), entry.getKey());
                if (fits && function.getReturnType() == int.class) {
                    int status = (int) call(function, entry.getValue());
                    assertTrue(status == Constants.KABI_STATUS_HANDLE || status == Constants.KABI_STATUS_ARGUMENT,
                            function.getName() + " gave " + status);
                }
                if (fits && function.getReturnType() == void.class) {
                    call(function, entry.getValue());
                }
            }
        }
    }

    @Test
    void functionsWithoutHandlesBearNothing() throws Exception {
        for (Method function : functions()) {
            if (WITHOUT_HANDLE.contains(function.getName()) && !function.getName().equals("kabi_shutdown")) {
                call(function, 0);
            }
        }
        assertEquals("QUEUE_FULL", Memory.text(KABI.kabi_error_name(Constants.KABI_STATUS_QUEUE_FULL)));
        assertEquals("UNKNOWN_CODE", Memory.text(KABI.kabi_error_name(Integer.MIN_VALUE)));
    }

    /** Whether a function's first argument is a handle of this noun. */
    private static boolean takes(String function, String noun) {
        return function.startsWith("kabi_" + noun + "_") && !function.endsWith("_new") && !function.contains("_of_")
                && !WITHOUT_HANDLE.contains(function);
    }

    private static List<Method> functions() {
        return Arrays.stream(Functions.class.getMethods()).sorted(Comparator.comparing(Method::getName)).toList();
    }

    /** The handle or number first, everything else 0. */
    private static Object call(Method function, long first) throws Exception {
        Class<?>[] types = function.getParameterTypes();
        Object[] arguments = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            long value = i == 0 ? first : 0;
            arguments[i] = types[i] == long.class ? (Object) value : (Object) (int) value;
        }
        return function.invoke(KABI, arguments);
    }

    private Map<String, Long> closedHandles() {
        Map<String, Long> handles = openHandles();
        assertEquals(0, KABI.kabi_producer_close(handles.get("producer"), 30_000, 0, 0));
        assertEquals(0, KABI.kabi_consumer_close(handles.get("consumer"), 30_000, 0));
        assertEquals(0, KABI.kabi_admin_close(handles.get("admin"), 30_000, 0));
        return handles;
    }

    private Map<String, Long> openHandles() {
        Map<String, Long> handles = new LinkedHashMap<>();
        assertEquals(0, KABI.kabi_config_new(Memory.address(out), 0));
        long config = out.getLong(0);
        handles.put("config", config);
        set(config, "bootstrap.servers", "127.0.0.1:1");
        set(config, "kafkabi.log", "off");
        assertEquals(0, KABI.kabi_producer_new(config, Memory.address(out), 0));
        handles.put("producer", out.getLong(0));
        assertEquals(0, KABI.kabi_consumer_new(config, Memory.address(out), 0));
        handles.put("consumer", out.getLong(0));
        assertEquals(0, KABI.kabi_admin_new(config, Memory.address(out), 0));
        handles.put("admin", out.getLong(0));
        assertEquals(0, KABI.kabi_cluster_new(1, Memory.address(out), 0));
        handles.put("cluster", out.getLong(0));
        return handles;
    }

    private static void set(long config, String name, String value) {
        ByteBuffer nameText = Memory.text(name);
        ByteBuffer valueText = Memory.text(value);
        assertEquals(0, KABI.kabi_config_set(config, Memory.address(nameText), Memory.address(valueText), 0));
        Reference.reachabilityFence(nameText);
        Reference.reachabilityFence(valueText);
    }

    private static void free(String noun, long handle) {
        switch (noun) {
            case "config" -> KABI.kabi_config_free(handle);
            case "producer" -> KABI.kabi_producer_free(handle);
            case "consumer" -> KABI.kabi_consumer_free(handle);
            case "admin" -> KABI.kabi_admin_free(handle);
            default -> KABI.kabi_cluster_free(handle);
        }
    }
}
