package org.kafkabi;

import java.util.Map;

/**
 * A broker.
 *
 * @param id its id
 * @param host its host
 * @param port its port
 * @param rack its rack, or null
 */
public record Node(int id, String host, int port, String rack) {
    static Node of(Map<String, Object> document) {
        return new Node(Documents.number(document, "id"), Documents.text(document, "host"),
                Documents.number(document, "port"), Documents.text(document, "rack"));
    }
}
