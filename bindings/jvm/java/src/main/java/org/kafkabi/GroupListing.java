package org.kafkabi;

import java.util.Map;

/**
 * A group in a list.
 *
 * @param group its name
 * @param state what it is doing
 * @param type its protocol
 * @param simple whether it has committed offsets but never had members
 */
public record GroupListing(String group, GroupState state, GroupType type, boolean simple) {
    static GroupListing of(Map<String, Object> document) {
        return new GroupListing(Documents.text(document, "group"), GroupState.of(Documents.text(document, "state")),
                GroupType.of(Documents.text(document, "type")), Documents.flag(document, "simple"));
    }
}
