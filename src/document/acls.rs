//! Access control lists.

use super::names::numbered;
use super::{items, Status};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

numbered! {
    /// What a rule protects. "any" is for filters only.
    AclResource {
        /// Every type.
        Any = 1 "any",
        /// Topics.
        Topic = 2 "topic",
        /// Groups.
        Group = 3 "group",
        /// The cluster, whose name is "kafka-cluster".
        Cluster = 4 "cluster",
        /// Transactional ids.
        TransactionalId = 5 "transactional_id",
    }
}

numbered! {
    /// How a rule's resource name is meant. "any" and "match" are for filters only.
    AclPattern {
        /// Rules of both patterns whose name is written as the filter's.
        Any = 1 "any",
        /// Rules that apply to the filter's name: literal ones, prefixes of it, and "*".
        Match = 2 "match",
        /// This very name; "*" is every name.
        Literal = 3 "literal",
        /// Every name that begins so.
        Prefixed = 4 "prefixed",
    }
}

numbered! {
    /// What a rule is about. "any" is for filters only.
    AclOperation {
        /// Every operation, in a filter.
        Any = 1 "any",
        /// The right to all operations.
        All = 2 "all",
        /// Read.
        Read = 3 "read",
        /// Write.
        Write = 4 "write",
        /// Create.
        Create = 5 "create",
        /// Delete.
        Delete = 6 "delete",
        /// Alter.
        Alter = 7 "alter",
        /// Describe.
        Describe = 8 "describe",
        /// What brokers do among themselves.
        ClusterAction = 9 "cluster_action",
        /// Describe configurations.
        DescribeConfigs = 10 "describe_configs",
        /// Alter configurations.
        AlterConfigs = 11 "alter_configs",
        /// Write idempotently.
        IdempotentWrite = 12 "idempotent_write",
    }
}

numbered! {
    /// Whether a rule allows. "any" is for filters only.
    AclPermission {
        /// Both.
        Any = 1 "any",
        /// It forbids, whatever others allow.
        Deny = 2 "deny",
        /// It allows.
        Allow = 3 "allow",
    }
}

/// Creates rules.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AclsCreate {
    /// At least one.
    pub acls: Vec<NewAcl>,
}

/// A rule to create.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct NewAcl {
    /// What it protects.
    pub resource_type: AclResource,
    /// The resource's name or its beginning.
    pub resource: String,
    /// How the name is meant.
    pub pattern: AclPattern,
    /// Whom it is for, such as "User:alice" or "User:*".
    pub principal: String,
    /// From where, an address; "*" is from everywhere.
    pub host: String,
    /// What it is about.
    pub operation: AclOperation,
    /// Whether it allows.
    pub permission: AclPermission,
}

/// How creating rules fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AclOutcomes {
    /// One for each rule, in order.
    pub acls: Vec<AclOutcome>,
    /// How many of them failed.
    pub failed: usize,
}

/// How creating a rule fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AclOutcome {
    /// How it fared.
    pub status: Status,
}

/// Lists the rules that match a filter.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AclsDescribe {
    /// Which rules; all without it.
    #[serde(default)]
    pub filter: AclFilter,
}

/// Deletes the rules that match filters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AclsDelete {
    /// At least one. A filter without any field is refused here: to delete every rule, say
    /// {"resource_type": "any"}.
    pub filters: Vec<AclFilter>,
}

/// Which rules: those that fit in every field that is given.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AclFilter {
    /// What they protect; anything without it.
    #[serde(default)]
    pub resource_type: Option<AclResource>,
    /// The name, read as `pattern` says; any without it.
    #[serde(default)]
    pub resource: Option<String>,
    /// How the rule's name is meant; any without it.
    #[serde(default)]
    pub pattern: Option<AclPattern>,
    /// Whom they are for, exactly as written in the rule; anyone without it.
    #[serde(default)]
    pub principal: Option<String>,
    /// From where, exactly as written in the rule; anywhere without it.
    #[serde(default)]
    pub host: Option<String>,
    /// What they are about; anything without it.
    #[serde(default)]
    pub operation: Option<AclOperation>,
    /// Whether they allow; both without it.
    #[serde(default)]
    pub permission: Option<AclPermission>,
}

/// A rule.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Acl {
    /// What it protects, such as "topic".
    pub resource_type: String,
    /// The resource's name or its beginning.
    pub resource: String,
    /// "literal" or "prefixed".
    pub pattern: String,
    /// Whom it is for.
    pub principal: String,
    /// From where.
    pub host: String,
    /// What it is about, such as "read".
    pub operation: String,
    /// "allow" or "deny".
    pub permission: String,
}

/// Rules listed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Acls {
    /// The rules.
    pub acls: Vec<Acl>,
}

/// How deleting rules fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AclsDeleted {
    /// One for each filter, in order.
    pub filters: Vec<AclFilterOutcome>,
    /// How many of them failed.
    pub failed: usize,
}

/// How deleting the rules of a filter fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AclFilterOutcome {
    /// How the filter fared.
    pub status: Status,
    /// The rules that matched.
    pub acls: Vec<AclDeleted>,
}

/// A rule that matched.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct AclDeleted {
    /// The rule.
    #[serde(flatten)]
    pub acl: Acl,
    /// Whether it is deleted.
    pub status: Status,
}

items!(AclOutcome, AclFilterOutcome);
