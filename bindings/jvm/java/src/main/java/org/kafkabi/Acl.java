package org.kafkabi;

import java.util.Map;
import java.util.Objects;

/**
 * A rule of access control.
 *
 * @param resourceType what it protects
 * @param resource the name of it, or its beginning
 * @param pattern how the name is meant
 * @param principal whom it is for, such as "User:alice" or "User:*"
 * @param host from where, an address; "*" is from everywhere
 * @param operation what it is about
 * @param permission whether it allows
 */
public record Acl(ResourceType resourceType, String resource, Pattern pattern, String principal, String host,
        Operation operation, Permission permission) {
    /** What rules protect. */
    public enum ResourceType {
        /** A kind that this library does not know. */
        UNKNOWN,
        /** Everything; only in filters. */
        ANY,
        /** Topics. */
        TOPIC,
        /** Groups. */
        GROUP,
        /** The cluster, whose name is "kafka-cluster". */
        CLUSTER,
        /** Transactional ids. */
        TRANSACTIONAL_ID
    }

    /** How the name of a rule is meant. */
    public enum Pattern {
        /** One that this library does not know. */
        UNKNOWN,
        /** Both of a rule's patterns, with the name written as the filter's; only in filters. */
        ANY,
        /** Rules that apply to the filter's name: literal ones, prefixes of it, and "*"; only in filters. */
        MATCH,
        /** This very name; "*" is every name. */
        LITERAL,
        /** Every name that begins so. */
        PREFIXED
    }

    /** What rules are about. */
    public enum Operation {
        /** One that this library does not know. */
        UNKNOWN,
        /** Every operation; only in filters. */
        ANY,
        /** The right to all operations. */
        ALL,
        /** Reading. */
        READ,
        /** Writing. */
        WRITE,
        /** Creating. */
        CREATE,
        /** Deleting. */
        DELETE,
        /** Altering. */
        ALTER,
        /** Describing. */
        DESCRIBE,
        /** What brokers do among themselves. */
        CLUSTER_ACTION,
        /** Describing configurations. */
        DESCRIBE_CONFIGS,
        /** Altering configurations. */
        ALTER_CONFIGS,
        /** Writing idempotently. */
        IDEMPOTENT_WRITE;

        static Operation of(String word) {
            return Words.constant(values(), word, UNKNOWN);
        }
    }

    /** Whether rules allow. */
    public enum Permission {
        /** Something that this library does not know. */
        UNKNOWN,
        /** Both; only in filters. */
        ANY,
        /** It forbids, whatever others allow. */
        DENY,
        /** It allows. */
        ALLOW
    }

    /** Refuses nulls. */
    public Acl {
        Objects.requireNonNull(resourceType, "the resource type of a rule is null");
        Objects.requireNonNull(resource, "the resource of a rule is null");
        Objects.requireNonNull(pattern, "the pattern of a rule is null");
        Objects.requireNonNull(principal, "the principal of a rule is null");
        Objects.requireNonNull(host, "the host of a rule is null");
        Objects.requireNonNull(operation, "the operation of a rule is null");
        Objects.requireNonNull(permission, "the permission of a rule is null");
    }

    /** A rule for one name that allows an operation from everywhere. */
    public static Acl allow(ResourceType resourceType, String resource, String principal, Operation operation) {
        return new Acl(resourceType, resource, Pattern.LITERAL, principal, "*", operation, Permission.ALLOW);
    }

    /** The filter that fits this rule alone. */
    public AclFilter filter() {
        return new AclFilter(resourceType, resource, pattern, principal, host, operation, permission);
    }

    static Acl of(Map<String, Object> document) {
        return new Acl(
                Words.constant(ResourceType.values(), Documents.text(document, "resource_type"), ResourceType.UNKNOWN),
                Documents.text(document, "resource"),
                Words.constant(Pattern.values(), Documents.text(document, "pattern"), Pattern.UNKNOWN),
                Documents.text(document, "principal"), Documents.text(document, "host"),
                Operation.of(Documents.text(document, "operation")),
                Words.constant(Permission.values(), Documents.text(document, "permission"), Permission.UNKNOWN));
    }

    Map<String, Object> document() {
        return filter().document();
    }
}
