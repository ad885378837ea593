package org.kafkabi.errors;

import org.kafkabi.TopicPartition;
import org.kafkabi.lowlevel.Constants;

/** The bytes of a record can't be turned into a key or a value. */
public class RecordDeserializationException extends SerializationException {
    private static final long serialVersionUID = 1L;

    /** Where the record is, or null if that is not known. */
    private final transient TopicPartition topicPartition;

    /** The record's offset, or -1. */
    private final long offset;

    /** With the code of its kind. */
    public RecordDeserializationException(String message) {
        this(message, Constants.KABI_STATUS_KEY_DESERIALIZATION, 0, null);
    }

    /** As {@link org.kafkabi.KafkaException#KafkaException(String, int, int, Throwable)}. */
    public RecordDeserializationException(String message, int code, int flags, Throwable cause) {
        super(message, code, flags, cause);
        topicPartition = null;
        offset = -1;
    }

    /** For a record that was received: where it is, so that the program can seek past it. */
    public RecordDeserializationException(
            String message, TopicPartition topicPartition, long offset, int code, Throwable cause) {
        super(message, code, 0, cause);
        this.topicPartition = topicPartition;
        this.offset = offset;
    }

    /** Where the record is, or null if that is not known. */
    public TopicPartition topicPartition() {
        return topicPartition;
    }

    /** The record's offset, or -1 if it is not known. */
    public long offset() {
        return offset;
    }
}
