package org.kafkabi;

import java.util.List;
import java.util.Map;

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
}
