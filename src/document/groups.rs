//! Consumer groups.

use super::names::numbered;
use super::{items, Node, Status, TopicPartition};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

numbered! {
    /// What a group is doing.
    GroupState {
        /// Members are joining.
        PreparingRebalance = 1 "preparing_rebalance",
        /// Members wait for their partitions.
        CompletingRebalance = 2 "completing_rebalance",
        /// Members have their partitions.
        Stable = 3 "stable",
        /// It is gone.
        Dead = 4 "dead",
        /// It has no members.
        Empty = 5 "empty",
    }
}

numbered! {
    /// The protocol that a group speaks.
    GroupType {
        /// The consumer protocol of KIP-848.
        Consumer = 1 "consumer",
        /// The one before.
        Classic = 2 "classic",
    }
}

/// Lists groups.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupsList {
    /// Only those in these states.
    #[serde(default)]
    pub states: Option<Vec<GroupState>>,
    /// Only those of these types.
    #[serde(default)]
    pub types: Option<Vec<GroupType>>,
}

/// Groups listed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupListings {
    /// The groups of the brokers that answered.
    pub groups: Vec<GroupListing>,
    /// What went wrong with brokers that did not.
    pub errors: Vec<Status>,
    /// How many errors there are.
    pub failed: usize,
}

/// A group listed.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupListing {
    /// The group's name.
    pub group: String,
    /// What it is doing, such as "stable".
    pub state: String,
    /// "consumer" or "classic".
    #[serde(rename = "type")]
    pub kind: String,
    /// It has committed offsets, but never had members.
    pub simple: bool,
}

/// Describes groups.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupsDescribe {
    /// Their names, at least one; each only once.
    pub groups: Vec<String>,
    /// Tell what this client may do with them.
    #[serde(default)]
    pub authorized_operations: bool,
}

/// Groups described.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupDescriptions {
    /// One for each group asked for.
    pub groups: Vec<GroupDescription>,
    /// How many of them failed.
    pub failed: usize,
}

/// A group described.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupDescription {
    /// The group's name.
    pub group: String,
    /// How it fared.
    pub status: Status,
    /// What it is doing, such as "stable".
    pub state: String,
    /// "consumer" or "classic".
    #[serde(rename = "type")]
    pub kind: String,
    /// It has committed offsets, but never had members.
    pub simple: bool,
    /// How it hands partitions out, such as "range".
    pub assignor: String,
    /// The broker that keeps it; null if it is not known.
    pub coordinator: Option<Node>,
    /// Its members.
    pub members: Vec<GroupMember>,
    /// What this client may do with it; null unless asked for.
    pub authorized_operations: Option<Vec<String>>,
}

/// A member of a group.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupMember {
    /// What the group calls it.
    pub member: String,
    /// Its client.id.
    pub client: String,
    /// Its group.instance.id, if it has one.
    pub instance: Option<String>,
    /// Where it connects from.
    pub host: String,
    /// The partitions that it has.
    pub assignment: Vec<TopicPartition>,
    /// The partitions that it is to have (consumer protocol); null for a classic group.
    pub target_assignment: Option<Vec<TopicPartition>>,
}

/// Deletes groups, which must be empty, and their offsets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupsDelete {
    /// Their names, at least one; each only once.
    pub groups: Vec<String>,
}

/// How groups fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupOutcomes {
    /// One for each group asked for.
    pub groups: Vec<GroupOutcome>,
    /// How many of them failed.
    pub failed: usize,
}

/// How a group fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupOutcome {
    /// The group's name.
    pub group: String,
    /// How it fared.
    pub status: Status,
}

items!(GroupDescription, GroupOutcome);
