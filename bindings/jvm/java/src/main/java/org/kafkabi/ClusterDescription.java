package org.kafkabi;

import java.util.List;
import java.util.Map;

/**
 * A cluster.
 *
 * @param id its id, or null
 * @param brokers its brokers
 * @param controller the broker that controls it, or null
 */
public record ClusterDescription(String id, List<Node> brokers, Node controller) {
    static ClusterDescription of(Map<String, Object> document) {
        return new ClusterDescription(Documents.text(document, "id"), Documents.nodes(document, "brokers"),
                Documents.node(document, "controller"));
    }
}
