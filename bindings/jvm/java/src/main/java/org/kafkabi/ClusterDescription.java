package org.kafkabi;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A cluster.
 *
 * @param id its id, or null
 * @param brokers its brokers
 * @param controller the broker that controls it, or null
 * @param authorizedOperations what this client may do with it; null unless asked for
 */
public record ClusterDescription(String id, List<Node> brokers, Node controller,
        Set<Acl.Operation> authorizedOperations) {
    static ClusterDescription of(Map<String, Object> document) {
        return new ClusterDescription(Documents.text(document, "id"), Documents.nodes(document, "brokers"),
                Documents.node(document, "controller"), Documents.operations(document));
    }
}
