package org.kafkabi;

/** Is told what became of a sent record. */
@FunctionalInterface
public interface DeliveryCallback {
    /**
     * Called once for each record that {@code send} took, on the producer's delivery thread. It should return soon:
     * other reports wait meanwhile. It may send; a send from here never blocks. It must not flush nor wait for other
     * deliveries. What it throws is logged.
     *
     * @param metadata where the record went; after a failure its offset is -1
     * @param failure null if the record was delivered
     */
    void onCompletion(RecordMetadata metadata, KafkaException failure);
}
