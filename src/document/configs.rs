//! Configurations of topics, brokers and groups.

use super::names::numbered;
use super::{items, Status};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

numbered! {
    /// What has a configuration.
    ConfigOwner {
        /// A topic, by name.
        Topic = 2 "topic",
        /// A group of the consumer protocol (KIP-848), by name.
        Group = 3 "group",
        /// A broker, by number.
        Broker = 4 "broker",
    }
}

numbered! {
    /// Where a value comes from.
    ConfigSource {
        /// Set for this topic.
        Topic = 1 "topic",
        /// Set for this broker while it ran.
        Broker = 2 "broker",
        /// Set for all brokers while they ran.
        Brokers = 3 "brokers",
        /// From the broker's file.
        File = 4 "file",
        /// Kafka's default.
        Default = 5 "default",
        /// Set for this broker's log levels.
        BrokerLogger = 6 "broker_logger",
        /// Set for this client's metrics.
        ClientMetrics = 7 "client_metrics",
        /// Set for this group.
        Group = 8 "group",
    }
}

/// Describes configurations. At most one broker a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigsDescribe {
    /// At least one.
    pub resources: Vec<ConfigResource>,
}

/// What to describe.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigResource {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ConfigOwner,
    /// Its name, or the broker's number as a text.
    pub name: String,
    /// Only these properties; all without it.
    #[serde(default)]
    pub properties: Option<Vec<String>>,
}

/// Configurations described.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigDescriptions {
    /// One for each resource asked for.
    pub resources: Vec<ConfigDescription>,
    /// How many of them failed.
    pub failed: usize,
}

/// A configuration described.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigDescription {
    /// Topic, broker or group.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name.
    pub name: String,
    /// How it fared.
    pub status: Status,
    /// Its properties.
    pub properties: Vec<ConfigProperty>,
}

/// A property of a configuration.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigProperty {
    /// The property's name.
    pub name: String,
    /// Its value; null if it has none or if it is a secret.
    pub value: Option<String>,
    /// Where the value comes from: "topic", "group", "broker", "brokers", "file", "default".
    pub source: String,
    /// Nobody has set it.
    pub default: bool,
    /// It can't be changed.
    pub read_only: bool,
    /// It is a secret, so brokers don't tell its value.
    pub sensitive: bool,
    /// The names and values that it falls back to, in order, its own included.
    pub synonyms: Vec<ConfigSynonym>,
}

/// A value that a property may fall back to.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigSynonym {
    /// The name there.
    pub name: String,
    /// The value there.
    pub value: Option<String>,
    /// Where that is.
    pub source: String,
}

/// Changes properties one by one and leaves the others alone. At most one broker a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigsAlterIncremental {
    /// At least one.
    pub resources: Vec<ConfigChanges>,
    /// Only say whether it would work.
    #[serde(default)]
    pub validate_only: bool,
}

/// Changes of one configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigChanges {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ConfigOwner,
    /// Its name, or the broker's number as a text.
    pub name: String,
    /// At least one.
    pub changes: Vec<ConfigChange>,
}

/// A change of a property.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigChange {
    /// The property's name.
    pub name: String,
    /// What to do with it.
    pub operation: ConfigOperation,
    /// The value to set, append or take out; not with "delete".
    #[serde(default)]
    pub value: Option<String>,
}

/// What to do with a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(JsonSchema))]
pub enum ConfigOperation {
    /// Give it this value.
    Set,
    /// Take it back to its default.
    Delete,
    /// Add this to a list.
    Append,
    /// Take this out of a list.
    Subtract,
}

/// Replaces whole configurations: what is not listed goes back to its default. At most one broker a
/// request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigsAlter {
    /// At least one.
    pub resources: Vec<WholeConfig>,
    /// Only say whether it would work.
    #[serde(default)]
    pub validate_only: bool,
}

/// A whole configuration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct WholeConfig {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: ConfigOwner,
    /// Its name, or the broker's number as a text.
    pub name: String,
    /// All that is to be set, by name.
    pub configs: BTreeMap<String, String>,
}

/// How configurations fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigOutcomes {
    /// One for each resource asked for.
    pub resources: Vec<ConfigOutcome>,
    /// How many of them failed.
    pub failed: usize,
}

/// How a configuration fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ConfigOutcome {
    /// Topic, broker or group.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name.
    pub name: String,
    /// How it fared.
    pub status: Status,
}

items!(ConfigDescription, ConfigOutcome);
