package org.kafkabi.bench;

/** One client doing one kind of work, in rounds. */
interface Contender extends AutoCloseable {
    /** Sends or receives so many records, and returns when all are delivered or seen. */
    void round(int messages) throws Exception;

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
