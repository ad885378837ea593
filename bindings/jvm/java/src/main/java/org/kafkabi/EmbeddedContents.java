package org.kafkabi;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.kafkabi.Blocking.Deadline;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Functions;
import org.kafkabi.lowlevel.Kabi;
import org.kafkabi.lowlevel.Layouts.BatchInfo;
import org.kafkabi.lowlevel.Layouts.Packed;
import org.kafkabi.lowlevel.Layouts.Request;
import org.kafkabi.lowlevel.Memory;

/** Reads out of an embedded cluster what it holds and what it was asked. */
final class EmbeddedContents {
    private static final Functions KABI = Kabi.functions();
    private static final int FIRST_BYTES = 64 * 1024;
    private static final int FIRST_REQUESTS = 256;

    private EmbeddedContents() {}

    static List<TrackedRequest> requests(long cluster) {
        int capacity = FIRST_REQUESTS;
        try (Scratch scratch = Scratch.take()) {
            while (true) {
                ByteBuffer memory = Memory.allocate(capacity * Request.BYTES);
                int status = KABI.kabi_cluster_requests(
                        cluster, Memory.address(memory), capacity, scratch.out(0), scratch.error());
                int count = Math.toIntExact(scratch.longOut(0));
                if (status != Constants.KABI_STATUS_BUFFER_TOO_SMALL) {
                    scratch.check(status);
                    List<TrackedRequest> requests = new ArrayList<>(count);
                    for (int at = 0; at < count * Request.BYTES; at += Request.BYTES) {
                        requests.add(new TrackedRequest(memory.getLong(at + Request.TIME_US),
                                memory.getInt(at + Request.BROKER), memory.getInt(at + Request.REQUEST)));
                    }
                    Reference.reachabilityFence(memory);
                    return requests;
                }
                capacity = 2 * count;
            }
        }
    }

    static List<Record> records(long cluster, TopicPartition partition, Duration timeout) {
        Deadline deadline = Deadline.in(timeout);
        List<Record> records = new ArrayList<>();
        ByteBuffer topic = Memory.text(partition.topic());
        ByteBuffer info = Memory.allocate(BatchInfo.BYTES);
        ByteBuffer buffer = Memory.allocate(FIRST_BYTES);
        long from = Constants.KABI_OFFSET_BEGINNING;
        try (Scratch scratch = Scratch.take()) {
            while (true) {
                int status = read(cluster, topic, partition.partition(), from, buffer, info, deadline, scratch);
                int count = Math.toIntExact(info.getLong(BatchInfo.COUNT));
                if (status == Constants.KABI_STATUS_BUFFER_TOO_SMALL) {
                    buffer = Memory.allocate(Math.toIntExact(info.getLong(BatchInfo.SIZE)));
                    continue;
                }
                scratch.check(status);
                if (count == 0) {
                    return records;
                }
                unpack(buffer, count, partition.topic(), records);
                from = records.get(records.size() - 1).offset() + 1;
            }
        } finally {
            Reference.reachabilityFence(topic);
        }
    }

    private static int read(long cluster, ByteBuffer topic, int partition, long from, ByteBuffer buffer, ByteBuffer info,
            Deadline deadline, Scratch scratch) {
        int status = Blocking.run(deadline, timeout -> KABI.kabi_cluster_records(cluster, Memory.address(topic), partition,
                from, Memory.address(buffer), buffer.capacity(), Memory.address(info), timeout, scratch.error()));
        Reference.reachabilityFence(buffer);
        Reference.reachabilityFence(info);
        return status;
    }

    private static void unpack(ByteBuffer buffer, int count, String topic, List<Record> records) {
        int at = 0;
        for (int i = 0; i < count; i++) {
            records.add(PackedReader.record(buffer, at, topic));
            at += buffer.getInt(at + Packed.SIZE);
        }
    }
}
