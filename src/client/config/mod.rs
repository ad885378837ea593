//! Configuration: properties by name as the program set them, each checked when it is set, and what a
//! client is built from. Values of secrets appear in no dump, debug output or error.

mod build;
mod check;
mod describe;
mod own;
#[cfg(test)]
mod tests;

pub use build::Settings;
pub use describe::{describe, description, Description, For, Importance, Kind, Level, Property};

use crate::error::{Error, Result};
use crate::record::{
    KABI_EVENT_ASSIGNMENT, KABI_EVENT_COMMIT, KABI_EVENT_DEFAULT, KABI_EVENT_ERROR, KABI_EVENT_LOG,
    KABI_EVENT_REPORT, KABI_EVENT_REQUEST, KABI_EVENT_STATISTICS, KABI_EVENT_THROTTLE,
    KABI_EVENT_TOKEN,
};
use std::collections::BTreeMap;
use std::fmt;

const REDACTED: &str = "[redacted]";
const EVENTS_ALL: u32 = KABI_EVENT_REPORT
    | KABI_EVENT_ERROR
    | KABI_EVENT_LOG
    | KABI_EVENT_STATISTICS
    | KABI_EVENT_ASSIGNMENT
    | KABI_EVENT_COMMIT
    | KABI_EVENT_TOKEN
    | KABI_EVENT_REQUEST
    | KABI_EVENT_THROTTLE;

#[derive(Clone)]
pub struct Config {
    /// By the name that aliases share, so that the one set last holds, as it does for librdkafka.
    entries: BTreeMap<String, Entry>,
    mask: u32,
}

#[derive(Clone)]
struct Entry {
    /// As the program wrote it.
    name: String,
    value: String,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            entries: BTreeMap::new(),
            mask: KABI_EVENT_DEFAULT,
        }
    }
}

impl Config {
    pub fn new() -> Config {
        Config::default()
    }

    /// Sets a property once its name and value are found good; else nothing changes.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        check::name_and_size(name, value)?;
        let description = description()?;
        let canonical = match description.find(name) {
            Some(property) => {
                check::settable(property)?;
                check::value(property, value)?;
                property.canonical().to_owned()
            }
            // A plug-in may bring properties of its own, which are known once it is loaded.
            None if self.has_plugins() => name.to_owned(),
            None => return Err(check::unknown(name, description)),
        };
        let entry = Entry {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        self.entries.insert(canonical, entry);
        Ok(())
    }

    /// What was set, else the default in force, `None` for no value.
    pub fn get(&self, name: &str) -> Result<Option<String>> {
        self.effective(&self.canonical(name)?)
    }

    /// Back to the default. Not an error if the property was not set.
    pub fn unset(&mut self, name: &str) -> Result<()> {
        let canonical = self.canonical(name)?;
        self.entries.remove(&canonical);
        Ok(())
    }

    /// What was set, as a JSON object.
    pub fn dump(&self) -> String {
        let shown: serde_json::Map<String, serde_json::Value> = self
            .shown()
            .map(|(name, value)| (name.to_owned(), value.into()))
            .collect();
        serde_json::Value::Object(shown).to_string()
    }

    /// Which kinds of events are queued for the program.
    pub fn set_events(&mut self, mask: u32) -> Result<()> {
        known_events(mask)?;
        self.mask = mask;
        Ok(())
    }

    pub fn events(&self) -> u32 {
        self.mask
    }

    fn shown(&self) -> impl Iterator<Item = (&str, &str)> {
        self.entries.iter().map(|(canonical, entry)| {
            let secret = own::is_secret(canonical);
            (
                entry.name.as_str(),
                if secret {
                    REDACTED
                } else {
                    entry.value.as_str()
                },
            )
        })
    }

    fn has_plugins(&self) -> bool {
        self.set_value("plugin.library.paths").is_some()
    }

    fn canonical(&self, name: &str) -> Result<String> {
        check::name_and_size(name, "")?;
        let description = description()?;
        match description.find(name) {
            Some(property) => Ok(property.canonical().to_owned()),
            None if self.entries.contains_key(name) => Ok(name.to_owned()),
            None => Err(check::unknown(name, description)),
        }
    }

    /// What the program set. An empty value is librdkafka's way to say none.
    fn set_value(&self, canonical: &str) -> Option<&str> {
        self.entries
            .get(canonical)
            .map(|e| e.value.as_str())
            .filter(|v| !v.is_empty())
    }
}

/// Refuses bits that are no event kind.
pub fn known_events(mask: u32) -> Result<()> {
    match mask & !EVENTS_ALL {
        0 => Ok(()),
        unknown => Err(Error::argument(format!(
            "the event mask {mask:#x} has bits that are no KABI_EVENT_*: {unknown:#x}"
        ))),
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.shown()).finish()?;
        write!(f, " events {:#x}", self.mask)
    }
}
