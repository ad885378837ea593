package org.kafkabi;

import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/** Reads the answers of an admin, whose shapes api/admin.schema.json has. */
final class Documents {
    private Documents() {}

    @SuppressWarnings("unchecked")
    static Map<String, Object> map(Map<String, Object> document, String name) {
        return (Map<String, Object>) document.get(name);
    }

    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> list(Map<String, Object> document, String name) {
        return (List<Map<String, Object>>) document.get(name);
    }

    static String text(Map<String, Object> document, String name) {
        return (String) document.get(name);
    }

    static int number(Map<String, Object> document, String name) {
        return ((Number) document.get(name)).intValue();
    }

    /** A number, or -1 where the document has null. */
    static long longOr(Map<String, Object> document, String name) {
        Object value = document.get(name);
        return value == null ? -1 : ((Number) value).longValue();
    }

    static boolean flag(Map<String, Object> document, String name) {
        return (Boolean) document.get(name);
    }

    static Node node(Map<String, Object> document, String name) {
        Map<String, Object> node = map(document, name);
        return node == null ? null : Node.of(node);
    }

    static List<Node> nodes(Map<String, Object> document, String name) {
        return list(document, name).stream().map(Node::of).toList();
    }

    static TopicPartition partition(Map<String, Object> document) {
        return new TopicPartition(text(document, "topic"), number(document, "partition"));
    }

    /** A list of partitions as a set, or null where the document has null. */
    static Set<TopicPartition> partitions(Map<String, Object> document, String name) {
        List<Map<String, Object>> list = list(document, name);
        return list == null ? null : list.stream().map(Documents::partition).collect(Collectors.toUnmodifiableSet());
    }

    /** Partitions as arguments. */
    static List<Map<String, Object>> of(Collection<TopicPartition> partitions) {
        return partitions.stream().map(Documents::of).toList();
    }

    /** A partition as an argument. */
    static Map<String, Object> of(TopicPartition partition) {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("topic", partition.topic());
        document.put("partition", partition.partition());
        return document;
    }

    static List<Integer> numbers(Map<String, Object> document, String name) {
        return ((List<?>) document.get(name)).stream().map(number -> ((Number) number).intValue()).toList();
    }

    /** What the client may do with something, or null unless it was asked for. */
    static Set<Acl.Operation> operations(Map<String, Object> document) {
        List<?> list = (List<?>) document.get("authorized_operations");
        return list == null ? null : list.stream().map(word -> Acl.Operation.of((String) word))
                .collect(Collectors.toUnmodifiableSet());
    }

    /** Null, or what an item's "status" tells. */
    static KafkaException failure(Map<String, Object> item) {
        return failureOf(map(item, "status"));
    }

    /** Null for success, or what a status tells. */
    static KafkaException failureOf(Map<String, Object> status) {
        int code = number(status, "code");
        return code == 0 ? null : Failures.ofItem(code, text(status, "text"));
    }
}
