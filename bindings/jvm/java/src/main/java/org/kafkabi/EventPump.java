package org.kafkabi;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Kabi;
import org.kafkabi.lowlevel.Layouts;
import org.kafkabi.lowlevel.Memory;

/**
 * The thread that drains a client's events: delivery reports go to the client, the others to the listeners of its
 * configuration. It ends when the client is closed and its last event is drained.
 *
 * <p>It holds no reference to the client that programs have, so that one which was forgotten can be collected.
 */
abstract class EventPump implements Runnable {
    private static final int CAPACITY = 2048;
    private static final int FIRST_BYTES = 64 * 1024;
    private static final int FOR_EVER = -1;

    final Logger logger;
    private final Listeners listeners;
    private final ByteBuffer events = Memory.allocate(CAPACITY * Layouts.Event.BYTES);
    private final long eventsAddress = Memory.address(events);
    private ByteBuffer bytes = Memory.allocate(FIRST_BYTES);
    private final Thread thread;

    EventPump(String kind, String name, Listeners listeners) {
        this.logger = System.getLogger("org.kafkabi." + kind);
        this.listeners = listeners;
        this.thread = new Thread(this, "kafkabi-" + kind + "-events" + (name.isEmpty() ? "" : "-" + name));
        thread.setDaemon(true);
    }

    void start() {
        Kabi.start(thread);
    }

    boolean isCurrentThread() {
        return Thread.currentThread() == thread;
    }

    /** Waits for the thread's end, up to a time in milliseconds; true if it has ended. */
    boolean join(long millis) throws InterruptedException {
        thread.join(Math.max(1, millis));
        return !thread.isAlive();
    }

    /** The client's drain function. */
    abstract int drain(int timeoutMs, long events, long capacity, long count, long bytes, long size, long used, long error);

    /** The client's function that takes a token; `extensions` is an address or 0. */
    abstract void answerToken(TokenProvider provider, String config);

    /** Before each drain, and after each wake. */
    void beforeDrain() {}

    /** A run of delivery reports: `count` of them, the first at index `from` of the events. */
    void reports(ByteBuffer events, int from, int count) {}

    /** A commit that was not waited for has ended. */
    void committed(long number, int code, Partitions partitions) {}

    /** A request has ended: its answer, or the error's document. */
    void answered(long number, int code, int flags, String document) {}

    /** After the last event. */
    void ended() {}

    @Override
    public void run() {
        try (Scratch scratch = Scratch.take()) {
            while (drainOnce(scratch)) {}
        } catch (RuntimeException | Error failure) {
            logger.log(Level.ERROR, "the thread of the events ends by a fault", failure);
        } finally {
            try {
                ended();
            } finally {
                Kabi.leave();
            }
        }
    }

    private boolean drainOnce(Scratch scratch) {
        beforeDrain();
        int status = drain(FOR_EVER, eventsAddress, CAPACITY, scratch.out(0), Memory.address(bytes), bytes.capacity(),
                scratch.out(1), scratch.error());
        switch (status) {
            case Constants.KABI_STATUS_OK -> hand((int) scratch.longOut(0));
            case Constants.KABI_STATUS_INTERRUPTED -> {}
            case Constants.KABI_STATUS_BUFFER_TOO_SMALL ->
                bytes = Memory.allocate(Math.max(2 * bytes.capacity(), Math.toIntExact(scratch.longOut(1))));
            case Constants.KABI_STATUS_CLOSED, Constants.KABI_STATUS_HANDLE -> {
                beforeDrain();
                return false;
            }
            default -> throw scratch.failure(status);
        }
        return true;
    }

    private void hand(int count) {
        int index = 0;
        while (index < count) {
            int at = index * Layouts.Event.BYTES;
            if (events.getInt(at + Layouts.Event.KIND) == Constants.KABI_EVENT_REPORT) {
                int from = index;
                do {
                    index++;
                } while (index < count && events.getInt(index * Layouts.Event.BYTES + Layouts.Event.KIND)
                        == Constants.KABI_EVENT_REPORT);
                reports(events, from, index - from);
            } else {
                try {
                    handOne(at);
                } catch (RuntimeException | Error failure) {
                    // Deliveries must go on, whatever a listener does.
                    logger.log(Level.ERROR, "a listener of events threw an exception", failure);
                }
                index++;
            }
        }
    }

    private void handOne(int at) {
        int code = events.getInt(at + Layouts.Event.CODE);
        int flags = events.getInt(at + Layouts.Event.FLAGS);
        long token = events.getLong(at + Layouts.Event.TOKEN);
        switch (events.getInt(at + Layouts.Event.KIND)) {
            case Constants.KABI_EVENT_ERROR -> listeners.error(logger, Failures.failure(code, flags, text(at)));
            case Constants.KABI_EVENT_LOG -> listeners.log(logger, code, text(at), token);
            case Constants.KABI_EVENT_STATISTICS -> listeners.statistics(text(at));
            case Constants.KABI_EVENT_TOKEN -> token(text(at));
            case Constants.KABI_EVENT_THROTTLE ->
                listeners.throttle(text(at), (int) token, events.getLong(at + Layouts.Event.LATENCY_US) / 1000);
            case Constants.KABI_EVENT_COMMIT -> committed(token, code, partitions(at));
            case Constants.KABI_EVENT_REQUEST -> answered(token, code, flags, text(at));
            default -> {}
        }
    }

    private void token(String config) {
        TokenProvider provider = listeners.tokenProvider();
        if (provider == null) {
            logger.log(Level.ERROR, "a SASL/OAUTHBEARER token is wanted, and the configuration has no token provider");
        } else {
            answerToken(provider, config);
        }
    }

    private Partitions partitions(int at) {
        return Partitions.copy(bytes, Math.toIntExact(events.getLong(at + Layouts.Event.DATA_OFFSET)),
                Math.toIntExact(events.getLong(at + Layouts.Event.DATA_COUNT)));
    }

    private String text(int at) {
        int offset = Math.toIntExact(events.getLong(at + Layouts.Event.TEXT_OFFSET));
        byte[] text = new byte[Math.toIntExact(events.getLong(at + Layouts.Event.TEXT_LENGTH))];
        bytes.get(offset, text);
        return new String(text, StandardCharsets.UTF_8);
    }
}
