package org.kafkabi;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.kafkabi.Blocking.Deadline;
import org.kafkabi.errors.TimeoutException;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Functions;
import org.kafkabi.lowlevel.Kabi;
import org.kafkabi.lowlevel.Memory;

/** The native client of an admin, and the thread that completes the futures of its requests. */
final class AdminCore extends EventPump {
    static final Functions KABI = Kabi.functions();
    static final int EVENTS = Constants.KABI_EVENT_ERROR | Constants.KABI_EVENT_LOG | Constants.KABI_EVENT_STATISTICS
            | Constants.KABI_EVENT_TOKEN | Constants.KABI_EVENT_REQUEST | Constants.KABI_EVENT_THROTTLE;
    private static final Logger LOGGER = System.getLogger("org.kafkabi.admin");

    final long handle;
    private final AtomicBoolean closed = new AtomicBoolean();
    private final Map<Long, Request> requests = new HashMap<>();

    /** A request under way, which keeps its admin and the client below it reachable. */
    private record Request(CompletableFuture<Map<String, Object>> future, Admin admin) {}

    AdminCore(long handle, String name, Listeners listeners) {
        super("admin", name, listeners);
        this.handle = handle;
        start();
    }

    void checkOpen() {
        if (closed.get()) {
            throw new IllegalStateException("the admin is closed");
        }
    }

    /** Begins a request; its future is completed on this thread, or by CLOSED at the end. */
    CompletableFuture<Map<String, Object>> request(Admin admin, String operation, String arguments, int timeoutMs) {
        checkOpen();
        ByteBuffer name = Memory.text(operation);
        ByteBuffer json = Memory.text(arguments);
        CompletableFuture<Map<String, Object>> future = new CompletableFuture<>();
        // Under the lock, so that the event of the answer finds the future.
        synchronized (requests) {
            try (Scratch scratch = Scratch.take()) {
                scratch.check(KABI.kabi_admin_start(handle, Memory.address(name), Memory.address(json), timeoutMs,
                        Constants.KABI_OUTCOME_EVENT, scratch.out(0), scratch.error()));
                requests.put(scratch.longOut(0), new Request(future, admin));
            } finally {
                Reference.reachabilityFence(admin);
                Reference.reachabilityFence(name);
                Reference.reachabilityFence(json);
            }
        }
        return future;
    }

    @Override
    int drain(int timeoutMs, long events, long capacity, long count, long bytes, long size, long used, long error) {
        return KABI.kabi_admin_drain(handle, timeoutMs, events, capacity, count, bytes, size, used, error);
    }

    @Override
    void answerToken(TokenProvider provider, String config) {
        Tokens.answer(provider, config,
                (token, expires, principal, extensions, error) ->
                        KABI.kabi_admin_token_set(handle, token, expires, principal, extensions, error),
                (why, error) -> KABI.kabi_admin_token_failure(handle, why, error), logger);
    }

    @Override
    @SuppressWarnings("unchecked")
    void answered(long number, int code, int flags, String document) {
        Request request;
        synchronized (requests) {
            request = requests.remove(number);
        }
        if (request == null) {
            return;
        }
        CompletableFuture<Map<String, Object>> future = request.future();
        Map<String, Object> answer = (Map<String, Object>) Json.parse(document);
        if (code == Constants.KABI_STATUS_OK) {
            future.complete(answer);
        } else {
            Map<String, Object> error = (Map<String, Object>) answer.get("error");
            String text = error == null ? Failures.text(code) : String.valueOf(error.get("text"));
            future.completeExceptionally(Failures.failure(code, flags, text));
        }
    }

    /** Requests whose events were lost with the client fail too, so that nobody waits for ever. */
    @Override
    void ended() {
        KABI.kabi_admin_free(handle);
        List<Request> left;
        synchronized (requests) {
            left = List.copyOf(requests.values());
            requests.clear();
        }
        left.forEach(request -> request.future().completeExceptionally(
                Failures.failure(Constants.KABI_STATUS_CLOSED, KafkaException.OUTCOME_UNKNOWN)));
    }

    void close(Deadline deadline) {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        Scratch scratch = Scratch.take();
        int status = Blocking.handOver(deadline, scratch, timeout -> KABI.kabi_admin_close(handle, timeout, scratch.error()));
        if (status == Constants.KABI_STATUS_TIMED_OUT) {
            throw new TimeoutException(scratch.message(), status, scratch.flags(), null);
        }
        // An admin on top of another client may have ended with it.
        if (status != Constants.KABI_STATUS_CLOSED && status != Constants.KABI_STATUS_HANDLE) {
            scratch.check(status);
        }
        scratch.close();
    }

    /** Called by the Cleaner. */
    void abandon() {
        if (closed.compareAndSet(false, true)) {
            LOGGER.log(Level.WARNING, "an admin was never closed");
            Blocking.closeForgotten(timeout -> KABI.kabi_admin_close(handle, timeout, 0), () -> KABI.kabi_admin_free(handle));
        }
    }
}
