package org.kafkabi.bench;

/** One client doing one kind of work, once: it is made, gets ready, does it, and is closed before another one begins. */
public interface Contender extends AutoCloseable {
    /** Connects, and does all else that only a new client has to do and wait for. */
    void ready() throws Exception;

    /**
     * Sends or receives so many records, and returns when all are delivered or seen.
     *
     * @param meter to be told by who receives when the first records have come: what is waited for until then depends on
     *     when a fetch happens to begin
     */
    void run(int messages, Meter meter) throws Exception;

    @Override
    void close();

    /** Bytes of `size` that are not all the same. */
    static byte[] payload(int size) {
        byte[] value = new byte[size];
        for (int i = 0; i < size; i++) {
            value[i] = (byte) ('a' + i % 26);
        }
        return value;
    }
}
