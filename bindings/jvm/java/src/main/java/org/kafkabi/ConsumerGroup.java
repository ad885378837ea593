package org.kafkabi;

import static org.kafkabi.ConsumerCore.KABI;

import java.lang.ref.Reference;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Memory;

/** Subscription and assignment of a consumer, and the changes that its group decides. */
final class ConsumerGroup {
    private final ConsumerCore core;
    private volatile RebalanceListener listener;
    private volatile boolean subscribed;
    private volatile boolean assigned;

    ConsumerGroup(ConsumerCore core) {
        this.core = core;
    }

    /** Whether polls have anything to wait for. */
    boolean isReading() {
        return subscribed || assigned;
    }

    boolean isSubscribed() {
        return subscribed;
    }

    void subscribe(List<String> topics, RebalanceListener listener) {
        core.checkOpen();
        List<ByteBuffer> texts = topics.stream().map(Memory::text).toList();
        ByteBuffer array = Memory.allocate(8 * texts.size());
        for (int i = 0; i < texts.size(); i++) {
            array.putLong(8 * i, Memory.address(texts.get(i)));
        }
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_consumer_subscribe(core.handle, Memory.address(array), texts.size(), scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
            Reference.reachabilityFence(texts);
        }
        this.listener = listener;
        subscribed = true;
    }

    void assign(Collection<TopicPartition> partitions) {
        core.checkOpen();
        Partitions array = Partitions.of(partitions, core.topics, Constants.KABI_OFFSET_STORED);
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_consumer_assign(
                    core.handle, array.addressOrNull(), array.capacity(), scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
        }
        assigned = !partitions.isEmpty();
        core.sought.clear();
    }

    void incrementalAssign(Collection<TopicPartition> partitions) {
        change(partitions, (array, count, error) ->
                KABI.kabi_consumer_incremental_assign(core.handle, array, count, error));
        assigned |= !partitions.isEmpty();
    }

    void incrementalUnassign(Collection<TopicPartition> partitions) {
        change(partitions, (array, count, error) ->
                KABI.kabi_consumer_incremental_unassign(core.handle, array, count, error));
        assigned = !assignment().isEmpty();
    }

    @FunctionalInterface
    private interface Changer {
        int change(long partitions, long count, long error);
    }

    private void change(Collection<TopicPartition> partitions, Changer changer) {
        core.checkOpen();
        Partitions array = Partitions.of(partitions, core.topics, Constants.KABI_OFFSET_STORED);
        try (Scratch scratch = Scratch.take()) {
            scratch.check(changer.change(array.addressOrNull(), array.capacity(), scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
        }
        partitions.forEach(core.sought::remove);
    }

    void unsubscribe() {
        try (Scratch scratch = Scratch.take()) {
            if (subscribed) {
                scratch.check(KABI.kabi_consumer_unsubscribe(core.handle, scratch.error()));
            } else {
                scratch.check(KABI.kabi_consumer_assign(core.handle, 0, 0, scratch.error()));
            }
        }
        subscribed = false;
        assigned = false;
    }

    // ---- changes that the group decides ----

    /** The change that waits to be applied. */
    private record Change(int kind, List<TopicPartition> partitions) {}

    /** Applies the change that waits, if one does, and tells the listener; false if none waits. */
    boolean applyChange() {
        Change change = pending();
        if (change == null) {
            return false;
        }
        change.partitions().forEach(core.sought::remove);
        Throwable thrown;
        if (change.kind() == Constants.KABI_ASSIGNMENT_ASSIGN) {
            apply();
            thrown = tell(change);
        } else {
            thrown = tell(change);
            apply();
        }
        rethrow(thrown);
        return true;
    }

    private void apply() {
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_consumer_assignment_apply(core.handle, 0, 0, scratch.error()));
        }
    }

    /** Throws what a listener threw, once the change is applied: an error as it is. */
    static void rethrow(Throwable thrown) {
        if (thrown instanceof Error error) {
            throw error;
        }
        if (thrown != null) {
            throw new KafkaException("the rebalance listener threw an exception", thrown);
        }
    }

    private Throwable tell(Change change) {
        RebalanceListener told = listener;
        if (told == null) {
            return null;
        }
        try {
            switch (change.kind()) {
                case Constants.KABI_ASSIGNMENT_ASSIGN -> told.onPartitionsAssigned(change.partitions());
                case Constants.KABI_ASSIGNMENT_REVOKE -> told.onPartitionsRevoked(change.partitions());
                default -> told.onPartitionsLost(change.partitions());
            }
            return null;
        } catch (RuntimeException | Error thrown) {
            return thrown;
        }
    }

    /** Before a close: the group's last revocation is answered inside it, without the listener. */
    Throwable tellRevokedAtClose() {
        if (!subscribed || listener == null) {
            return null;
        }
        List<TopicPartition> partitions = List.copyOf(assignment());
        return partitions.isEmpty() ? null : tell(new Change(Constants.KABI_ASSIGNMENT_REVOKE, partitions));
    }

    private Change pending() {
        int capacity = 64;
        try (Scratch scratch = Scratch.take()) {
            while (true) {
                Partitions array = new Partitions(capacity);
                scratch.clear(0);
                int status = KABI.kabi_consumer_assignment_pending(
                        core.handle, scratch.out(0), array.address(), capacity, scratch.out(1), scratch.error());
                Reference.reachabilityFence(array);
                int count = Math.toIntExact(scratch.longOut(1));
                if (status == Constants.KABI_STATUS_BUFFER_TOO_SMALL) {
                    capacity = 2 * count;
                    continue;
                }
                scratch.check(status);
                return scratch.intOut(0) == 0 ? null : new Change(scratch.intOut(0), list(array, count));
            }
        }
    }

    private List<TopicPartition> list(Partitions array, int count) {
        List<TopicPartition> partitions = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            partitions.add(array.partition(i, core.topics));
        }
        return List.copyOf(partitions);
    }

    // ---- questions ----

    @FunctionalInterface
    private interface Lister {
        int list(long partitions, long capacity, long count, long error);
    }

    Set<TopicPartition> assignment() {
        return partitions((array, capacity, count, error) ->
                KABI.kabi_consumer_assignment(core.handle, array, capacity, count, error));
    }

    Set<TopicPartition> paused() {
        return partitions((array, capacity, count, error) ->
                KABI.kabi_consumer_paused(core.handle, array, capacity, count, error));
    }

    private Set<TopicPartition> partitions(Lister lister) {
        core.checkOpen();
        int capacity = 64;
        try (Scratch scratch = Scratch.take()) {
            while (true) {
                Partitions array = new Partitions(capacity);
                int status = lister.list(array.address(), capacity, scratch.out(0), scratch.error());
                Reference.reachabilityFence(array);
                int count = Math.toIntExact(scratch.longOut(0));
                if (status == Constants.KABI_STATUS_BUFFER_TOO_SMALL) {
                    capacity = 2 * count;
                    continue;
                }
                scratch.check(status);
                return new LinkedHashSet<>(list(array, count));
            }
        }
    }

    @SuppressWarnings("unchecked")
    Set<String> subscription() {
        core.checkOpen();
        String json = Texts.read((buffer, size, length, error) ->
                KABI.kabi_consumer_subscription(core.handle, buffer, size, length, error));
        return new LinkedHashSet<>((List<String>) Json.parse(json));
    }

    String memberId() {
        core.checkOpen();
        return Texts.read((buffer, size, length, error) ->
                KABI.kabi_consumer_member_id(core.handle, buffer, size, length, error));
    }

    int generation() {
        core.checkOpen();
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_consumer_group_generation(core.handle, scratch.out(0), scratch.error()));
            return scratch.intOut(0);
        }
    }

    String rebalanceProtocol() {
        core.checkOpen();
        return Texts.read((buffer, size, length, error) ->
                KABI.kabi_consumer_rebalance_protocol(core.handle, buffer, size, length, error));
    }

    byte[] groupMetadata() {
        core.checkOpen();
        return Texts.bytes((buffer, size, length, error) ->
                KABI.kabi_consumer_group_metadata(core.handle, buffer, size, length, error), false);
    }

    String metrics() {
        core.checkOpen();
        return Texts.read((buffer, size, length, error) ->
                KABI.kabi_consumer_metrics(core.handle, buffer, size, length, error));
    }

    // ---- pauses ----

    void pause(Collection<TopicPartition> partitions) {
        core.checkOpen();
        Partitions array = Partitions.of(partitions, core.topics, 0);
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_consumer_pause(core.handle, array.addressOrNull(), array.capacity(), scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
        }
    }

    void resume(Collection<TopicPartition> partitions) {
        core.checkOpen();
        Partitions array = Partitions.of(partitions, core.topics, 0);
        try (Scratch scratch = Scratch.take()) {
            scratch.check(KABI.kabi_consumer_resume(core.handle, array.addressOrNull(), array.capacity(), scratch.error()));
        } finally {
            Reference.reachabilityFence(array);
        }
    }
}
