//! Offsets: what groups have committed, and where partitions begin and end.

use super::{items, Status, TopicPartition};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists the offsets that a group has committed.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupOffsetsList {
    /// The group's name.
    pub group: String,
    /// Of these partitions, each only once; of all that have one without it.
    #[serde(default)]
    pub partitions: Option<Vec<TopicPartition>>,
    /// Fail rather than tell an offset that an open transaction is about to change.
    #[serde(default)]
    pub require_stable: bool,
}

/// Sets committed offsets of a group without members.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupOffsetsAlter {
    /// The group's name.
    pub group: String,
    /// At least one; each partition only once.
    pub offsets: Vec<NewOffset>,
}

/// An offset to commit.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct NewOffset {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The offset of the record to go on with.
    pub offset: i64,
    /// The leader's epoch of the record before.
    #[serde(default)]
    pub leader_epoch: Option<i32>,
    /// A text to keep with it.
    #[serde(default)]
    pub metadata: Option<String>,
}

/// Deletes committed offsets of a group, for topics that no member subscribes to.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupOffsetsDelete {
    /// The group's name.
    pub group: String,
    /// At least one; each only once.
    pub partitions: Vec<TopicPartition>,
}

/// Committed offsets of a group.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupOffsets {
    /// The group's name.
    pub group: String,
    /// How the group fared.
    pub status: Status,
    /// Its partitions.
    pub partitions: Vec<GroupOffset>,
    /// How many partitions failed, and 1 more if the group did.
    pub failed: usize,
}

/// A committed offset.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct GroupOffset {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The offset; null if there is none (any more).
    pub offset: Option<i64>,
    /// The leader's epoch of the record before; null if it is not known.
    pub leader_epoch: Option<i32>,
    /// The text kept with it; null if there is none or if it is not UTF-8.
    pub metadata: Option<String>,
    /// What is kept with it in hexadecimal digits, if it is not UTF-8.
    pub metadata_hex: Option<String>,
    /// How it fared.
    pub status: Status,
}

/// Looks offsets up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct OffsetsList {
    /// At least one; each partition only once.
    pub partitions: Vec<OffsetAsk>,
    /// Which records count.
    #[serde(default)]
    pub isolation: Isolation,
}

/// An offset to look up.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct OffsetAsk {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// Which offset.
    pub at: OffsetAt,
    /// With "timestamp": milliseconds since 1970-01-01 UTC.
    #[serde(default)]
    pub timestamp: Option<i64>,
}

/// Which offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(JsonSchema))]
pub enum OffsetAt {
    /// Of the oldest record.
    Earliest,
    /// After the newest record.
    Latest,
    /// Of the record with the latest timestamp.
    MaxTimestamp,
    /// Of the first record with this timestamp or a later one.
    Timestamp,
}

/// Which records count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(JsonSchema))]
pub enum Isolation {
    /// All.
    #[default]
    ReadUncommitted,
    /// Those before the first open transaction.
    ReadCommitted,
}

/// Offsets looked up.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct OffsetListings {
    /// One for each partition asked for.
    pub partitions: Vec<OffsetListing>,
    /// How many of them failed.
    pub failed: usize,
}

/// An offset looked up.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct OffsetListing {
    /// The topic's name.
    pub topic: String,
    /// The partition's number.
    pub partition: i32,
    /// The offset; null if no record is like that.
    pub offset: Option<i64>,
    /// The record's timestamp; null for "earliest" and "latest".
    pub timestamp: Option<i64>,
    /// The leader's epoch of the record; null if it is not known.
    pub leader_epoch: Option<i32>,
    /// How it fared.
    pub status: Status,
}

items!(GroupOffset, OffsetListing);
