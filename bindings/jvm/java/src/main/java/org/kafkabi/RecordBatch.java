package org.kafkabi;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** The records of one poll, in the order of their offsets in each partition. They are copies, and stay valid. */
public final class RecordBatch implements Iterable<Record> {
    static final RecordBatch EMPTY = new RecordBatch(0, List.of(), List.of(), null, 0);

    /** The native number of the batch, by which its records are said to be handled. */
    final long number;

    private final List<Record> records;
    private final List<TopicPartition> ends;

    /** Of each record its place among the entries of the native batch, if not all of these are records; else null. */
    private final int[] places;

    private final int entries;

    RecordBatch(long number, List<Record> records, List<TopicPartition> ends, int[] places, int entries) {
        this.number = number;
        this.records = records;
        this.ends = ends;
        this.places = places;
        this.entries = entries;
    }

    /** How many entries of the native batch are done when the first `count` records are. */
    int entries(int count) {
        if (count == records.size()) {
            return entries;
        }
        return places == null || count == 0 ? count : places[count - 1] + 1;
    }

    /** How many records there are. */
    public int count() {
        return records.size();
    }

    /** Whether there are none. */
    public boolean isEmpty() {
        return records.isEmpty();
    }

    /** The records; unmodifiable. */
    public List<Record> records() {
        return records;
    }

    /** The records of one partition. */
    public List<Record> records(TopicPartition partition) {
        List<Record> some = new ArrayList<>();
        for (Record record : records) {
            if (record.partition() == partition.partition() && record.topic().equals(partition.topic())) {
                some.add(record);
            }
        }
        return Collections.unmodifiableList(some);
    }

    /** The partitions that there are records of. */
    public Set<TopicPartition> partitions() {
        Set<TopicPartition> partitions = new LinkedHashSet<>();
        for (Record record : records) {
            partitions.add(record.topicPartition());
        }
        return partitions;
    }

    /** The partitions whose end was reached, with {@code enable.partition.eof=true}. */
    public List<TopicPartition> ends() {
        return ends;
    }

    @Override
    public Iterator<Record> iterator() {
        return records.iterator();
    }

    static List<Record> list(Record[] records, int count) {
        return Collections.unmodifiableList(Arrays.asList(count == records.length ? records : Arrays.copyOf(records, count)));
    }
}
