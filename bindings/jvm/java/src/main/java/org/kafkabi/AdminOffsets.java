package org.kafkabi;

import java.util.LinkedHashMap;
import java.util.Map;

/** Documents of groups' committed offsets. */
final class AdminOffsets {
    private AdminOffsets() {}

    static Map<String, Object> document(TopicPartition partition, OffsetAndMetadata offset) {
        Map<String, Object> document = Documents.of(partition);
        document.put("offset", offset.offset());
        if (offset.leaderEpoch() >= 0) {
            document.put("leader_epoch", offset.leaderEpoch());
        }
        if (!offset.metadata().isEmpty()) {
            document.put("metadata", offset.metadata());
        }
        return document;
    }

    /** The offsets that there are; throws what the group or a partition failed by. */
    static Map<TopicPartition, OffsetAndMetadata> committed(Map<String, Object> answer) {
        Items.succeeded(answer);
        Items.check(answer, "partitions", Documents::partition);
        Map<TopicPartition, OffsetAndMetadata> offsets = new LinkedHashMap<>();
        for (Map<String, Object> item : Documents.list(answer, "partitions")) {
            long offset = Documents.longOr(item, "offset");
            if (offset >= 0) {
                offsets.put(Documents.partition(item),
                        new OffsetAndMetadata(offset, (int) Documents.longOr(item, "leader_epoch"), metadata(item)));
            }
        }
        return offsets;
    }

    private static String metadata(Map<String, Object> item) {
        String text = Documents.text(item, "metadata");
        String hex = Documents.text(item, "metadata_hex");
        return text != null ? text : hex != null ? hex : "";
    }
}
