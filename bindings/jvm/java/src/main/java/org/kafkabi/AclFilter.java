package org.kafkabi;

import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Which rules: those that fit in every field that is not null. A name is compared as the pattern says; principal and
 * host exactly as written, so that "*" is the rule for "*" and not every rule.
 *
 * @param resourceType what they protect, or null for anything
 * @param resource the name, or null for any
 * @param pattern how the rule's name is meant, or null for any
 * @param principal whom they are for, or null for anyone
 * @param host from where, or null for anywhere
 * @param operation what they are about, or null for anything
 * @param permission whether they allow, or null for both
 */
public record AclFilter(Acl.ResourceType resourceType, String resource, Acl.Pattern pattern, String principal,
        String host, Acl.Operation operation, Acl.Permission permission) {
    /** Every rule. */
    public static final AclFilter ALL = new AclFilter(Acl.ResourceType.ANY, null, null, null, null, null, null);

    /** The same for rules that protect this. */
    public AclFilter withResource(Acl.ResourceType resourceType, String resource, Acl.Pattern pattern) {
        return new AclFilter(resourceType, resource, pattern, principal, host, operation, permission);
    }

    /** The same for rules for this principal. */
    public AclFilter withPrincipal(String principal) {
        return new AclFilter(resourceType, resource, pattern, principal, host, operation, permission);
    }

    /** The same for rules for this host. */
    public AclFilter withHost(String host) {
        return new AclFilter(resourceType, resource, pattern, principal, host, operation, permission);
    }

    /** The same for rules about this operation. */
    public AclFilter withOperation(Acl.Operation operation) {
        return new AclFilter(resourceType, resource, pattern, principal, host, operation, permission);
    }

    /** The same for rules that allow, or that deny. */
    public AclFilter withPermission(Acl.Permission permission) {
        return new AclFilter(resourceType, resource, pattern, principal, host, operation, permission);
    }

    /** Its fields that are given. A constant that is not known is passed on, and refused with its name. */
    Map<String, Object> document() {
        Map<String, Object> document = new LinkedHashMap<>();
        document.put("resource_type", Words.text(resourceType));
        document.put("resource", resource);
        document.put("pattern", Words.text(pattern));
        document.put("principal", principal);
        document.put("host", host);
        document.put("operation", Words.text(operation));
        document.put("permission", Words.text(permission));
        document.values().removeIf(value -> value == null);
        return document;
    }
}
