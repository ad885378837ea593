//! The JSON documents of administration: what an operation is asked with and what it answers. Plain data
//! that the layers share, like the records: `rd` turns them into librdkafka's objects and back, `client`
//! into text. Their comments become api/admin.schema.json, which a test compares.

// The clippy lint wants names without the operation's; here the names are the schema's.
#![allow(clippy::module_name_repetitions)]

mod acls;
mod cluster;
mod configs;
mod groups;
mod names;
mod offsets;
#[cfg(test)]
mod schema;
mod scram;
mod topics;

pub use acls::*;
pub use cluster::*;
pub use configs::*;
pub use groups::*;
pub use names::Number;
pub use offsets::*;
pub use scram::*;
pub use topics::*;

use crate::error;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How one item of a request fared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Status {
    /// A KABI_STATUS_* number, 0 for success.
    pub code: i32,
    /// The number's name without KABI_STATUS_, such as "TOPIC_ALREADY_EXISTS".
    pub name: &'static str,
    /// What the broker says of it, else what the number means.
    pub text: String,
}

impl Status {
    /// From a code and what was said of it, which may be nothing.
    pub fn new(code: i32, said: String) -> Status {
        let text = match said {
            said if said.is_empty() => error::text(code).to_owned(),
            said => said,
        };
        Status {
            code,
            name: error::name(code),
            text,
        }
    }

    pub fn of(code: i32) -> Status {
        Status::new(code, String::new())
    }

    pub fn is_failure(&self) -> bool {
        self.code != 0
    }
}

/// The document of a request that failed as a whole.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Failure {
    /// What happened.
    pub error: Status,
}

/// One partition of a topic.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct TopicPartition {
    /// The topic's name.
    pub topic: String,
    /// The partition's number, from 0.
    pub partition: i32,
}

/// A broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Node {
    /// The broker's number.
    pub id: i32,
    /// Where it listens; empty if it is not known (the broker is down).
    pub host: String,
    /// Its port; 0 if it is not known.
    pub port: i32,
    /// The rack that it says it is in.
    pub rack: Option<String>,
}

/// An item with a status, so that failures can be counted.
pub trait Item {
    fn status(&self) -> &Status;
}

/// How many items failed.
pub fn failed<T: Item>(items: &[T]) -> usize {
    items.iter().filter(|i| i.status().is_failure()).count()
}

macro_rules! items {
    ($($item:ty),* $(,)?) => { $(
        impl $crate::document::Item for $item {
            fn status(&self) -> &$crate::document::Status {
                &self.status
            }
        }
    )* };
}
use items;
