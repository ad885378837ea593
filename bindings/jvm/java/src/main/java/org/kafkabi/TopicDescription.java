package org.kafkabi;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A topic as the brokers know it.
 *
 * @param name its name
 * @param internal whether it is Kafka's own
 * @param id its id, or null with brokers that have none
 * @param partitions its partitions
 * @param authorizedOperations what this client may do with it; null unless asked for
 */
public record TopicDescription(String name, boolean internal, String id, List<PartitionInfo> partitions,
        Set<Acl.Operation> authorizedOperations) {
    static TopicDescription of(Map<String, Object> document) {
        return new TopicDescription(Documents.text(document, "topic"), Documents.flag(document, "internal"),
                Documents.text(document, "id"),
                Documents.list(document, "partitions").stream().map(PartitionInfo::of).toList(),
                Documents.operations(document));
    }

    /**
     * A partition of a topic.
     *
     * @param partition its number
     * @param leader the broker that leads it, or null
     * @param replicas the brokers that have it
     * @param inSync those of them that are in step
     */
    public record PartitionInfo(int partition, Node leader, List<Node> replicas, List<Node> inSync) {
        static PartitionInfo of(Map<String, Object> document) {
            return new PartitionInfo(Documents.number(document, "partition"), Documents.node(document, "leader"),
                    Documents.nodes(document, "replicas"), Documents.nodes(document, "in_sync"));
        }
    }
}
