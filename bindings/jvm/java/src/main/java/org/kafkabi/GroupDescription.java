package org.kafkabi;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A group and its members.
 *
 * @param group its name
 * @param state what it is doing; brokers call a group that does not exist DEAD
 * @param type its protocol
 * @param simple whether it has committed offsets but never had members
 * @param assignor how it hands partitions out, such as "range"; empty if it is not known
 * @param coordinator the broker that keeps it, or null
 * @param members its members
 * @param authorizedOperations what this client may do with it; null unless asked for
 */
public record GroupDescription(String group, GroupState state, GroupType type, boolean simple, String assignor,
        Node coordinator, List<Member> members, Set<Acl.Operation> authorizedOperations) {
    static GroupDescription of(Map<String, Object> document) {
        return new GroupDescription(Documents.text(document, "group"),
                GroupState.of(Documents.text(document, "state")), GroupType.of(Documents.text(document, "type")),
                Documents.flag(document, "simple"), Documents.text(document, "assignor"),
                Documents.node(document, "coordinator"),
                Documents.list(document, "members").stream().map(Member::of).toList(),
                Documents.operations(document));
    }

    /**
     * A member of a group.
     *
     * @param id what the group calls it
     * @param client its client.id
     * @param instance its group.instance.id, or null
     * @param host where it connects from
     * @param assignment the partitions that it has
     * @param target the partitions that it is to have; null with the classic protocol
     */
    public record Member(String id, String client, String instance, String host, Set<TopicPartition> assignment,
            Set<TopicPartition> target) {
        static Member of(Map<String, Object> document) {
            return new Member(Documents.text(document, "member"), Documents.text(document, "client"),
                    Documents.text(document, "instance"), Documents.text(document, "host"),
                    Documents.partitions(document, "assignment"), Documents.partitions(document, "target_assignment"));
        }
    }
}
