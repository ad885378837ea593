package org.kafkabi;

import static org.kafkabi.ConsumerCore.KABI;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.kafkabi.Blocking.Deadline;
import org.kafkabi.Blocking.Slice;
import org.kafkabi.errors.NoOffsetForPartitionException;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Memory;

/** Commits, seeks, positions, and questions about offsets. */
final class ConsumerOffsets {
    static final long BEGINNING = Constants.KABI_OFFSET_BEGINNING;
    static final long END = Constants.KABI_OFFSET_END;

    private static final int METADATA_BYTES = 64 * 1024;

    private final ConsumerCore core;

    /** Kept reachable while a call of it waits. */
    private final Consumer consumer;

    ConsumerOffsets(ConsumerCore core, Consumer consumer) {
        this.core = core;
        this.consumer = consumer;
    }

    private void await(Deadline deadline, String late, Scratch scratch, Slice call) {
        try {
            core.await(deadline, late, scratch, call);
        } finally {
            Reference.reachabilityFence(consumer);
        }
    }

    /** Commits these; none stands for all that is handled. */
    void commit(Map<TopicPartition, OffsetAndMetadata> offsets, Deadline deadline) {
        Partitions array = array(offsets);
        try (Scratch scratch = Scratch.take()) {
            await(deadline, "the commit was not answered in time", scratch, timeout ->
                    KABI.kabi_consumer_commit(
                            core.handle, array.addressOrNull(), array.capacity(), timeout, scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
        }
    }

    void store(Map<TopicPartition, OffsetAndMetadata> offsets) {
        core.checkOpen();
        Partitions array = array(offsets);
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_consumer_store(
                    core.handle, array.addressOrNull(), array.capacity(), scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
        }
    }

    void commitAsync(Map<TopicPartition, OffsetAndMetadata> offsets, CommitCallback callback) {
        core.checkOpen();
        core.events.commit(array(offsets), Map.copyOf(offsets), callback);
    }

    private Partitions array(Map<TopicPartition, OffsetAndMetadata> offsets) {
        Partitions array = new Partitions(offsets.size());
        int index = 0;
        for (Map.Entry<TopicPartition, OffsetAndMetadata> entry : offsets.entrySet()) {
            array.set(index, core.topics, entry.getKey(), entry.getValue().offset());
            array.setCommitted(index++, entry.getValue());
        }
        return array;
    }

    private Partitions longs(Map<TopicPartition, Long> offsets) {
        Partitions array = new Partitions(offsets.size());
        int index = 0;
        for (Map.Entry<TopicPartition, Long> entry : offsets.entrySet()) {
            array.set(index++, core.topics, entry.getKey(), entry.getValue());
        }
        return array;
    }

    Map<TopicPartition, OffsetAndMetadata> committed(Collection<TopicPartition> partitions, Deadline deadline) {
        Partitions array = Partitions.of(partitions, core.topics, 0);
        Map<TopicPartition, OffsetAndMetadata> committed = new LinkedHashMap<>();
        int[] size = {METADATA_BYTES};
        while (true) {
            ByteBuffer bytes = Memory.allocate(size[0]);
            try (Scratch scratch = Scratch.take()) {
                boolean[] tooSmall = {false};
                await(deadline, "the committed offsets were not answered in time", scratch, timeout -> {
                    int status = KABI.kabi_consumer_committed(core.handle, array.address(), array.capacity(), timeout,
                            Memory.address(bytes), size[0], scratch.out(0), scratch.error());
                    tooSmall[0] = status == Constants.KABI_STATUS_BUFFER_TOO_SMALL;
                    return tooSmall[0] ? Constants.KABI_STATUS_OK : status;
                });
                if (tooSmall[0]) {
                    size[0] = Math.toIntExact(2 * scratch.longOut(0));
                    continue;
                }
                for (int i = 0; i < array.capacity(); i++) {
                    if (array.offset(i) >= 0) {
                        committed.put(array.partition(i, core.topics),
                                new OffsetAndMetadata(array.offset(i), array.leaderEpoch(i), array.metadata(i)));
                    }
                }
                return committed;
            } finally {
                Reference.reachabilityFence(bytes);
                Reference.reachabilityFence(array);
            }
        }
    }

    void seek(Map<TopicPartition, Long> offsets) {
        seek(longs(offsets));
        offsets.keySet().forEach(core.sought::remove);
    }

    void seekAll(Collection<TopicPartition> partitions, long offset) {
        seek(Partitions.of(partitions, core.topics, offset));
        partitions.forEach(partition -> core.sought.put(partition, offset));
    }

    private void seek(Partitions array) {
        if (array.capacity() == 0) {
            return;
        }
        try (Scratch scratch = Scratch.take()) {
            await(Deadline.in(core.apiTimeout()), "the seek did not end in time", scratch, timeout ->
                    KABI.kabi_consumer_seek(core.handle, array.address(), array.capacity(), timeout, scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
        }
    }

    /** A seek that wake-ups and interrupts don't end: records that were not handed out would be passed over. */
    void seekBack(Map<TopicPartition, Long> offsets) {
        Partitions array = longs(offsets);
        if (array.capacity() == 0) {
            return;
        }
        Deadline deadline = Deadline.in(core.apiTimeout());
        try (Scratch scratch = Scratch.take()) {
            int status;
            do {
                status = Blocking.call(timeout -> KABI.kabi_consumer_seek(
                        core.handle, array.address(), array.capacity(), timeout, scratch.error()),
                        deadline.slice(Integer.MAX_VALUE));
            } while (status == Constants.KABI_STATUS_INTERRUPTED);
            scratch.check(status);
        } finally {
            Reference.reachabilityFence(array);
        }
        offsets.keySet().forEach(core.sought::remove);
    }

    void seekToTimes(Map<TopicPartition, Long> times) {
        Partitions array = longs(times);
        try (Scratch scratch = Scratch.take()) {
            await(Deadline.in(core.apiTimeout()), "the seek did not end in time", scratch, timeout ->
                    KABI.kabi_consumer_seek_to_times(
                            core.handle, array.addressOrNull(), array.capacity(), timeout, scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
        }
        int index = 0;
        for (TopicPartition partition : times.keySet()) {
            // Where no record is that young, it was sought to the end.
            if (array.offset(index++) < 0) {
                core.sought.put(partition, END);
            } else {
                core.sought.remove(partition);
            }
        }
    }

    /** What the native client knows, else what the group committed, else what auto.offset.reset says. */
    long position(TopicPartition partition, Deadline deadline) {
        core.checkOpen();
        Partitions array = Partitions.of(List.of(partition), core.topics, 0);
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_consumer_position(core.handle, array.address(), 1, scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
        }
        long known = array.offset(0);
        if (known >= 0) {
            return known;
        }
        Long sought = core.sought.get(partition);
        if (sought != null) {
            return watermarks(partition, deadline)[sought == BEGINNING ? 0 : 1];
        }
        if (core.hasGroup) {
            OffsetAndMetadata committed = committed(List.of(partition), deadline).get(partition);
            if (committed != null) {
                return committed.offset();
            }
        }
        return switch (core.offsetReset) {
            case "smallest", "earliest", "beginning" -> watermarks(partition, deadline)[0];
            case "largest", "latest", "end" -> watermarks(partition, deadline)[1];
            default -> throw new NoOffsetForPartitionException(
                    partition + " has no position, nothing is committed, and auto.offset.reset is " + core.offsetReset);
        };
    }

    /** The first offset, and the one after the last record. */
    long[] watermarks(TopicPartition partition, Deadline deadline) {
        int topic = core.topics.number(partition.topic());
        try (Scratch scratch = Scratch.take()) {
            await(deadline, "the offsets of " + partition + " were not answered in time", scratch, timeout ->
                    KABI.kabi_consumer_watermarks(core.handle, topic, partition.partition(), timeout, scratch.out(0),
                            scratch.out(1), scratch.error()));
            return new long[] {scratch.longOut(0), scratch.longOut(1)};
        }
    }

    Map<TopicPartition, OffsetAndTimestamp> offsetsForTimes(Map<TopicPartition, Long> times, Deadline deadline) {
        Partitions array = longs(times);
        Map<TopicPartition, OffsetAndTimestamp> found = new LinkedHashMap<>();
        try (Scratch scratch = Scratch.take()) {
            await(deadline, "the offsets by time were not answered in time", scratch, timeout ->
                    KABI.kabi_consumer_offsets_for_times(
                            core.handle, array.addressOrNull(), array.capacity(), timeout, scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
        }
        int index = 0;
        for (Map.Entry<TopicPartition, Long> time : times.entrySet()) {
            long offset = array.offset(index++);
            if (offset >= 0) {
                found.put(time.getKey(), new OffsetAndTimestamp(offset, time.getValue()));
            }
        }
        return found;
    }

    Map<TopicPartition, Long> lag(Collection<TopicPartition> partitions, Deadline deadline) {
        Partitions array = Partitions.of(partitions, core.topics, 0);
        ByteBuffer lags = Memory.allocate(8 * Math.max(1, array.capacity()));
        Map<TopicPartition, Long> found = new LinkedHashMap<>();
        try (Scratch scratch = Scratch.take()) {
            await(deadline, "the lag was not answered in time", scratch, timeout ->
                    KABI.kabi_consumer_lag(core.handle, array.addressOrNull(), Memory.address(lags), array.capacity(),
                            timeout, scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
            Reference.reachabilityFence(lags);
        }
        for (int i = 0; i < array.capacity(); i++) {
            found.put(array.partition(i, core.topics), lags.getLong(8 * i));
        }
        return found;
    }
}
