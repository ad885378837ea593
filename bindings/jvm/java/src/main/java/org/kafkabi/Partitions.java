package org.kafkabi;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import org.kafkabi.lowlevel.Layouts.Partition;
import org.kafkabi.lowlevel.Memory;

/** An array of kabi_partition_t in memory of its own. */
final class Partitions {
    private final ByteBuffer memory;
    private final long address;
    private final int capacity;

    /** Keeps the metadata that the array points to. */
    private final List<ByteBuffer> texts = new ArrayList<>();

    Partitions(int capacity) {
        this.capacity = capacity;
        memory = Memory.allocate(Math.max(1, capacity) * Partition.BYTES);
        address = Memory.address(memory);
    }

    /** These partitions, all with one offset. */
    static Partitions of(Collection<TopicPartition> partitions, TopicNumbers topics, long offset) {
        Partitions array = new Partitions(partitions.size());
        int index = 0;
        for (TopicPartition partition : partitions) {
            array.set(index++, topics, partition, offset);
        }
        return array;
    }

    /** A copy of an array whose metadata is not told. */
    static Partitions copy(ByteBuffer bytes, int offset, int count) {
        Partitions array = new Partitions(count);
        array.memory.put(0, bytes, offset, count * Partition.BYTES);
        return array;
    }

    void set(int index, TopicNumbers topics, TopicPartition partition, long offset) {
        int at = index * Partition.BYTES;
        memory.putInt(at + Partition.TOPIC, topics.number(partition.topic()));
        memory.putInt(at + Partition.PARTITION, partition.partition());
        memory.putLong(at + Partition.OFFSET, offset);
        memory.putInt(at + Partition.LEADER_EPOCH, -1);
    }

    void setCommitted(int index, OffsetAndMetadata offset) {
        int at = index * Partition.BYTES;
        memory.putInt(at + Partition.LEADER_EPOCH, offset.leaderEpoch());
        if (!offset.metadata().isEmpty()) {
            byte[] bytes = offset.metadata().getBytes(StandardCharsets.UTF_8);
            ByteBuffer text = Memory.allocate(bytes.length);
            text.put(0, bytes);
            texts.add(text);
            memory.putLong(at + Partition.METADATA, Memory.address(text));
            memory.putLong(at + Partition.METADATA_LENGTH, bytes.length);
        }
    }

    long address() {
        return address;
    }

    /** The address, or 0 for an empty array, for functions that take that for none. */
    long addressOrNull() {
        return capacity == 0 ? 0 : address;
    }

    int capacity() {
        return capacity;
    }

    TopicPartition partition(int index, TopicNumbers topics) {
        int at = index * Partition.BYTES;
        return new TopicPartition(
                topics.name(memory.getInt(at + Partition.TOPIC)), memory.getInt(at + Partition.PARTITION));
    }

    long offset(int index) {
        return memory.getLong(index * Partition.BYTES + Partition.OFFSET);
    }

    int leaderEpoch(int index) {
        return memory.getInt(index * Partition.BYTES + Partition.LEADER_EPOCH);
    }

    int code(int index) {
        return memory.getInt(index * Partition.BYTES + Partition.CODE);
    }

    /** The metadata as text; what is null reads as empty. */
    String metadata(int index) {
        int at = index * Partition.BYTES;
        long text = memory.getLong(at + Partition.METADATA);
        int length = Math.toIntExact(memory.getLong(at + Partition.METADATA_LENGTH));
        return text == 0 || length == 0 ? "" : new String(Memory.bytes(text, length), StandardCharsets.UTF_8);
    }
}
