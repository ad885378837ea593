//! The cluster and its metadata.

use super::{items, Node, Status};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Describes the cluster.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ClusterDescribe {
    /// Tell what this client may do with the cluster.
    #[serde(default)]
    pub authorized_operations: bool,
}

/// The cluster described.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ClusterDescription {
    /// The cluster's name for itself.
    pub id: Option<String>,
    /// The broker that controls it; null if none is known.
    pub controller: Option<Node>,
    /// The brokers that live.
    pub brokers: Vec<Node>,
    /// What this client may do with it, such as "describe_configs"; null unless asked for.
    pub authorized_operations: Option<Vec<String>>,
}

/// Asks for brokers, topics and partitions.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct MetadataAsk {
    /// Only these topics; all that this client may see without it. Asking never creates one.
    #[serde(default)]
    pub topics: Option<Vec<String>>,
}

/// Brokers, topics and partitions.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Metadata {
    /// The cluster's name for itself; null if the brokers don't tell.
    pub cluster: Option<String>,
    /// The number of the broker that controls it; null if the brokers don't tell.
    pub controller: Option<i32>,
    /// The brokers that live.
    pub brokers: Vec<Node>,
    /// The topics.
    pub topics: Vec<TopicMetadata>,
    /// How many topics failed.
    pub failed: usize,
}

/// A topic and its partitions.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TopicMetadata {
    /// The topic's name.
    pub topic: String,
    /// Whether it is there.
    pub status: Status,
    /// Its partitions.
    pub partitions: Vec<PartitionMetadata>,
}

/// A partition and its brokers, by number.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct PartitionMetadata {
    /// The partition's number.
    pub partition: i32,
    /// The broker that leads it; null if none does.
    pub leader: Option<i32>,
    /// The brokers that keep it, the preferred leader first.
    pub replicas: Vec<i32>,
    /// Those of them that are in sync.
    pub in_sync: Vec<i32>,
    /// Whether it can be used.
    pub status: Status,
}

items!(TopicMetadata);
