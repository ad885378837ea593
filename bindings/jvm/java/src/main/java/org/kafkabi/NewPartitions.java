package org.kafkabi;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * A topic that is to have more partitions.
 *
 * @param topic its name
 * @param total how many it is to have in all
 * @param placement of each new partition the brokers that are to have it, the preferred leader first; empty to leave it
 *     to the controller
 */
public record NewPartitions(String topic, int total, List<List<Integer>> placement) {
    /** Partitions that the controller places. */
    public NewPartitions(String topic, int total) {
        this(topic, total, List.of());
    }

    Map<String, Object> document() {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("topic", topic);
        document.put("total", total);
        if (!placement.isEmpty()) {
            document.put("placement", placement);
        }
        return document;
    }
}
