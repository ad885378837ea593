//! SCRAM users. Passwords come in, and never go out: not into an answer, an error or a log line.

use super::names::numbered;
use super::{items, Status};
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

numbered! {
    /// How a password is checked.
    ScramMechanism {
        /// With SHA-256.
        Sha256 = 1 "SCRAM-SHA-256",
        /// With SHA-512.
        Sha512 = 2 "SCRAM-SHA-512",
    }
}

/// Lists users' credentials, without what would give their passwords away.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ScramUsersDescribe {
    /// Of these users, each only once; of all without it.
    #[serde(default)]
    pub users: Option<Vec<String>>,
}

/// Users' credentials.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ScramUsers {
    /// The users.
    pub users: Vec<ScramUser>,
    /// How many of them failed.
    pub failed: usize,
}

/// A user's credentials.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ScramUser {
    /// The user's name.
    pub user: String,
    /// How it fared.
    pub status: Status,
    /// One for each mechanism.
    pub credentials: Vec<ScramCredential>,
}

/// A credential.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ScramCredential {
    /// "SCRAM-SHA-256" or "SCRAM-SHA-512".
    pub mechanism: String,
    /// How often the password is hashed.
    pub iterations: i32,
}

/// Sets and deletes users' credentials.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ScramUsersAlter {
    /// Credentials to set.
    #[serde(default)]
    pub upsertions: Vec<ScramUpsertion>,
    /// Credentials to delete.
    #[serde(default)]
    pub deletions: Vec<ScramDeletion>,
}

/// A credential to set.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ScramUpsertion {
    /// The user's name.
    pub user: String,
    /// The mechanism.
    pub mechanism: ScramMechanism,
    /// How often to hash the password; Kafka takes 4096 to 16384.
    #[serde(default = "default_iterations")]
    pub iterations: i32,
    /// The password.
    pub password: Secret,
    /// The salt in hexadecimal digits; a random one without it.
    #[serde(default)]
    pub salt_hex: Option<Secret>,
}

fn default_iterations() -> i32 {
    8192
}

/// A credential to delete.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ScramDeletion {
    /// The user's name.
    pub user: String,
    /// The mechanism.
    pub mechanism: ScramMechanism,
}

/// A text that is not shown.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Secret(String);

impl Secret {
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

/// How altering users fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ScramOutcomes {
    /// One for each user.
    pub users: Vec<ScramOutcome>,
    /// How many of them failed.
    pub failed: usize,
}

/// How altering a user fared.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ScramOutcome {
    /// The user's name.
    pub user: String,
    /// How it fared.
    pub status: Status,
}

items!(ScramUser, ScramOutcome);
