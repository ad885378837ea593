//! Topics, partitions, records.

use super::{items, Node, Status};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Creates topics.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TopicsCreate {
    /// At least one.
    pub topics: Vec<NewTopic>,
    /// Only say whether it would work.
    #[serde(default)]
    pub validate_only: bool,
}

/// A topic to create.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct NewTopic {
    /// Its name.
    pub topic: String,
    /// How many partitions; without it as many as `placement` lists, else the brokers' default.
    #[serde(default)]
    pub partitions: Option<i32>,
    /// How many brokers keep each partition; without it the brokers' default. Not together with `placement`.
    #[serde(default)]
    pub replication: Option<i32>,
    /// For each partition the brokers that keep it, the preferred leader first.
    #[serde(default)]
    pub placement: Option<Vec<Vec<i32>>>,
    /// The topic's own configuration, by name.
    #[serde(default)]
    pub configs: BTreeMap<String, String>,
}

/// Deletes topics and all that is in them.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TopicsDelete {
    /// Their names, at least one.
    pub topics: Vec<String>,
}

/// Adds partitions to topics. Records stay where they are, so keys may go to other partitions after.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PartitionsCreate {
    /// At least one.
    pub topics: Vec<MorePartitions>,
    /// Only say whether it would work.
    #[serde(default)]
    pub validate_only: bool,
}

/// A topic that gets more partitions.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MorePartitions {
    /// Its name.
    pub topic: String,
    /// How many partitions it is to have in all.
    pub total: i32,
    /// For each new partition the brokers that keep it, the preferred leader first.
    #[serde(default)]
    pub placement: Option<Vec<Vec<i32>>>,
}

/// How topics fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TopicOutcomes {
    /// One for each topic asked for.
    pub topics: Vec<TopicOutcome>,
    /// How many of them failed.
    pub failed: usize,
}

/// How a topic fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TopicOutcome {
    /// The topic's name.
    pub topic: String,
    /// How it fared.
    pub status: Status,
}

/// Describes topics.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TopicsDescribe {
    /// Their names, at least one.
    pub topics: Vec<String>,
    /// Tell what this client may do with them.
    #[serde(default)]
    pub authorized_operations: bool,
}

/// Topics described.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TopicDescriptions {
    /// One for each topic asked for.
    pub topics: Vec<TopicDescription>,
    /// How many of them failed.
    pub failed: usize,
}

/// A topic described.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TopicDescription {
    /// The topic's name.
    pub topic: String,
    /// How it fared.
    pub status: Status,
    /// The number that the cluster gave it, in base 64; null if it is not known.
    pub id: Option<String>,
    /// Kafka's own, such as __consumer_offsets.
    pub internal: bool,
    /// Its partitions.
    pub partitions: Vec<PartitionDescription>,
    /// What this client may do with it, such as "read"; null unless asked for.
    pub authorized_operations: Option<Vec<String>>,
}

/// A partition described.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PartitionDescription {
    /// The partition's number.
    pub partition: i32,
    /// The broker that leads it; null if none does.
    pub leader: Option<Node>,
    /// The brokers that keep it, the preferred leader first.
    pub replicas: Vec<Node>,
    /// Those of them that are in sync.
    pub in_sync: Vec<Node>,
}

/// Deletes the oldest records of partitions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RecordsDelete {
    /// At least one; each only once.
    pub partitions: Vec<DeleteBefore>,
}

/// A partition whose oldest records go.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DeleteBefore {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// Records with smaller offsets are deleted; -1 stands for the partition's end, so all are.
    pub before: i64,
}

/// How deleting records fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct RecordsDeleted {
    /// One for each partition asked for.
    pub partitions: Vec<DeletedBefore>,
    /// How many of them failed.
    pub failed: usize,
}

/// How deleting a partition's records fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DeletedBefore {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The smallest offset that is left; null if that failed.
    pub first_offset: Option<i64>,
    /// How it fared.
    pub status: Status,
}

/// Has leaders elected.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct LeadersElect {
    /// Which replica is to lead.
    pub election: Election,
    /// Of these partitions; of all without it.
    #[serde(default)]
    pub partitions: Option<Vec<super::TopicPartition>>,
}

/// Which replica is to lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(JsonSchema))]
pub enum Election {
    /// The first of the placement, if it is in sync.
    Preferred,
    /// Any that lives, if none in sync does: records may be lost.
    Unclean,
}

/// How partitions fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PartitionOutcomes {
    /// The partitions.
    pub partitions: Vec<PartitionOutcome>,
    /// How many of them failed.
    pub failed: usize,
}

/// How a partition fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PartitionOutcome {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// How it fared.
    pub status: Status,
}

items!(
    TopicOutcome,
    TopicDescription,
    DeletedBefore,
    PartitionOutcome
);
