package org.kafkabi;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A topic to create.
 *
 * @param name its name
 * @param partitions how many partitions, or -1 for the brokers' default
 * @param replication how many copies of each, or -1 for the brokers' default
 * @param placement of each partition the brokers that have it, the first of them its leader; empty to leave it to the
 *     controller, else partitions and replication are taken from it
 * @param configs properties of the topic
 */
public record NewTopic(
        String name, int partitions, int replication, List<List<Integer>> placement, Map<String, String> configs) {
    /** A topic whose partitions the controller places. */
    public NewTopic(String name, int partitions, int replication) {
        this(name, partitions, replication, List.of(), Map.of());
    }

    /** The same with these properties. */
    public NewTopic withConfigs(Map<String, String> configs) {
        return new NewTopic(name, partitions, replication, placement, configs);
    }

    Map<String, Object> document() {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("topic", name);
        if (placement.isEmpty()) {
            document.put("partitions", partitions < 0 ? null : partitions);
            document.put("replication", replication < 0 ? null : replication);
        } else {
            document.put("placement", placement);
        }
        document.put("configs", configs);
        return document;
    }
}
