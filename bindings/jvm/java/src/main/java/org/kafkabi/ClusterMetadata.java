package org.kafkabi;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Brokers, topics and partitions, as one broker tells them.
 *
 * @param id the cluster's id, or null if the brokers don't tell
 * @param controller the number of the broker that controls it, or -1 if the brokers don't tell
 * @param brokers the brokers that live
 * @param topics the topics by name
 */
public record ClusterMetadata(String id, int controller, List<Node> brokers, Map<String, Topic> topics) {
    static ClusterMetadata of(Map<String, Object> document) {
        Map<String, Topic> topics = new LinkedHashMap<>();
        Documents.list(document, "topics").forEach(topic -> topics.put(Documents.text(topic, "topic"), Topic.of(topic)));
        return new ClusterMetadata(Documents.text(document, "cluster"), (int) Documents.longOr(document, "controller"),
                Documents.nodes(document, "brokers"), topics);
    }

    /**
     * A topic.
     *
     * @param name its name
     * @param partitions its partitions
     * @param failure null, or why it can't be used, such as that it does not exist
     */
    public record Topic(String name, List<Partition> partitions, KafkaException failure) {
        static Topic of(Map<String, Object> document) {
            return new Topic(Documents.text(document, "topic"),
                    Documents.list(document, "partitions").stream().map(Partition::of).toList(),
                    Documents.failure(document));
        }
    }

    /**
     * A partition.
     *
     * @param partition its number
     * @param leader the number of the broker that leads it, or -1 if none does
     * @param replicas the numbers of the brokers that keep it, the preferred leader first
     * @param inSync the numbers of those that are in sync
     * @param failure null, or why it can't be used
     */
    public record Partition(int partition, int leader, List<Integer> replicas, List<Integer> inSync,
            KafkaException failure) {
        static Partition of(Map<String, Object> document) {
            return new Partition(Documents.number(document, "partition"), (int) Documents.longOr(document, "leader"),
                    Documents.numbers(document, "replicas"), Documents.numbers(document, "in_sync"),
                    Documents.failure(document));
        }
    }
}
