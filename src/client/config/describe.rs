//! The description of every property: librdkafka's, read from the table that it prints of itself, with
//! what kafkabi changes and adds. Made once for the process; `Config` looks names up in it.

use super::own;
use crate::error::{Error, Result};
use crate::rd::conf::{properties_table, Conf, Refused};
use crate::rd::fork::Whole;
use crate::status::KABI_STATUS_SYSTEM;
use once_cell::sync::OnceCell;
use serde::Serialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Kind {
    #[serde(rename = "string")]
    String,
    #[serde(rename = "integer")]
    Integer,
    #[serde(rename = "float")]
    Float,
    #[serde(rename = "boolean")]
    Boolean,
    /// One of `values`.
    #[serde(rename = "enum")]
    Enum,
    /// Any of `values`, separated by commas.
    #[serde(rename = "flags")]
    Flags,
    /// Regular expressions, separated by commas.
    #[serde(rename = "pattern list")]
    PatternList,
    /// Can't be set as text.
    #[serde(rename = "pointer")]
    Pointer,
}

/// Which kind of client reads the property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum For {
    Producer,
    Consumer,
    Both,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    Global,
    Topic,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Importance {
    High,
    Medium,
    Low,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Range {
    pub min: serde_json::Number,
    pub max: serde_json::Number,
}

/// One property as `kabi_config_describe` lists it; absent fields are left out of the document.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Property {
    pub name: String,
    pub kind: Kind,
    /// The value in force when the program sets none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<String>,
    /// librdkafka's own default, where kafkabi's differs, and why it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub librdkafka_default: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    #[serde(rename = "for")]
    pub for_: For,
    pub level: Level,
    pub importance: Importance,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias_of: Option<String>,
    pub deprecated: bool,
    pub experimental: bool,
    pub secret: bool,
    /// Why programs can't set it, and what to use instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub managed: Option<&'static str>,
    /// Why this build of librdkafka can't use it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsupported: Option<String>,
    pub text: String,
}

impl Property {
    /// The name that aliases share.
    pub fn canonical(&self) -> &str {
        self.alias_of.as_deref().unwrap_or(&self.name)
    }

    pub(super) fn is_own(&self) -> bool {
        self.name.starts_with("kafkabi.")
    }
}

/// The document of `kabi_config_describe`.
#[derive(Debug, Serialize)]
pub struct Description {
    pub kafkabi: &'static str,
    pub properties: Vec<Property>,
}

impl Description {
    /// `name` as programs may write it: librdkafka also takes topic properties as "topic.NAME".
    pub fn find(&self, name: &str) -> Option<&Property> {
        let by = |n: &str| self.properties.iter().find(|p| p.name == n);
        by(name).or_else(|| {
            name.strip_prefix("topic.")
                .and_then(by)
                .filter(|p| p.level == Level::Topic)
        })
    }
}

/// All properties, parsed at the first use.
pub fn description() -> Result<&'static Description> {
    static DESCRIPTION: OnceCell<Description> = OnceCell::new();
    if let Some(description) = DESCRIPTION.get() {
        return Ok(description);
    }
    let _whole = Whole::begin(); // a child of a fork would wait for ever for what was begun
    DESCRIPTION.get_or_try_init(build)
}

/// The JSON document of all properties.
pub fn describe() -> Result<&'static str> {
    static DOCUMENT: OnceCell<String> = OnceCell::new();
    if let Some(document) = DOCUMENT.get() {
        return Ok(document);
    }
    let _whole = Whole::begin();
    let document = DOCUMENT.get_or_try_init(|| {
        serde_json::to_string_pretty(description()?).map_err(|e| {
            Error::new(
                KABI_STATUS_SYSTEM,
                format!("writing the properties as JSON: {e}"),
            )
        })
    })?;
    Ok(document)
}

fn build() -> Result<Description> {
    let mut properties: Vec<Property> = own::OWN.iter().map(of_own).collect();
    properties.extend(own::HIDDEN.iter().map(of_hidden));
    for property in parse(&properties_table()?) {
        // Some names exist for the client and, with other details, for a topic: setting one reaches the
        // first, so that is the one to describe.
        if !properties.iter().any(|p| p.name == property.name) {
            properties.push(property);
        }
    }
    let mut scratch = Conf::new()?;
    for property in &mut properties {
        finish(property, &mut scratch);
    }
    Ok(Description {
        kafkabi: env!("CARGO_PKG_VERSION"),
        properties,
    })
}

/// Adds what librdkafka's table does not tell.
fn finish(property: &mut Property, scratch: &mut Conf) {
    property.secret = own::is_secret(property.canonical());
    if property.name == "builtin.features" {
        // The table lists what librdkafka could be built with, the object what it was built with.
        property.default = scratch.get("builtin.features");
    }
    if let Some(changed) = own::DEFAULTS
        .iter()
        .find(|d| d.name == property.canonical())
    {
        property.librdkafka_default = property.default.replace(changed.value.to_owned());
        property.why = Some(changed.why);
    }
    if let Some(managed) = own::MANAGED.iter().find(|m| m.name == property.name) {
        property.managed = Some(managed.why);
        if let Some(value) = managed.value {
            property.librdkafka_default = property.default.replace(value.to_owned());
        }
    } else if property.kind == Kind::Pointer {
        property.managed = Some(own::POINTER);
    }
    // librdkafka says whether a property is supported before it looks at the value, so that an empty
    // one tells; a plug-in path would be loaded.
    let ask = !property.is_own() && property.managed.is_none();
    if ask && property.name != "plugin.library.paths" {
        if let Err(Refused::InvalidValue(text)) = scratch.set(&property.name, "") {
            property.unsupported = text
                .split_once("not supported in this build: ")
                .map(|(_, why)| why.to_owned());
        }
    }
}

fn of_own(own: &own::Own) -> Property {
    Property {
        default: some_text(own.default),
        range: own.range.map(|(min, max)| Range {
            min: min.into(),
            max: max.into(),
        }),
        values: own.values.iter().map(|v| (*v).to_owned()).collect(),
        for_: own.for_,
        ..bare(own.name, own.kind, own.text)
    }
}

fn of_hidden(hidden: &own::Hidden) -> Property {
    Property {
        default: some_text(hidden.default),
        importance: hidden.importance,
        ..bare(hidden.name, hidden.kind, hidden.text)
    }
}

fn bare(name: &str, kind: Kind, text: &str) -> Property {
    Property {
        name: name.to_owned(),
        kind,
        default: None,
        librdkafka_default: None,
        why: None,
        range: None,
        values: Vec::new(),
        for_: For::Both,
        level: Level::Global,
        importance: Importance::Low,
        alias_of: None,
        deprecated: false,
        experimental: false,
        secret: false,
        managed: None,
        unsupported: None,
        text: text.to_owned(),
    }
}

fn some_text(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Reads librdkafka's table. Its rows have no escapes, so that a default or a text may hold a bar:
/// the name, the clients and the range (which never do) are cut from the left, then the importance,
/// one of three words between bars, parts the default from the text.
pub(super) fn parse(table: &str) -> Vec<Property> {
    let mut level = Level::Global;
    let mut properties: Vec<Property> = Vec::new();
    for line in table.lines() {
        if line.starts_with("##") {
            level = if line.contains("Topic") {
                Level::Topic
            } else {
                Level::Global
            };
        } else if let Some(property) = parse_row(line, level) {
            properties.push(property);
        }
    }
    properties
}

fn parse_row(line: &str, level: Level) -> Option<Property> {
    let (name, rest) = line.split_once(" | ")?;
    let (clients, rest) = rest.split_once(" | ")?;
    let (range, rest) = rest.split_once(" | ")?;
    let for_ = match clients.trim() {
        "P" => For::Producer,
        "C" => For::Consumer,
        "*" => For::Both,
        _ => return None, // the heading
    };
    let (at, importance, cut) = [
        (" | high       | ", Importance::High),
        (" | medium     | ", Importance::Medium),
        (" | low        | ", Importance::Low),
    ]
    .iter()
    .filter_map(|(bar, importance)| rest.find(bar).map(|at| (at, *importance, bar.len())))
    .min_by_key(|(at, _, _)| *at)?;
    let default = rest.get(..at)?.trim();
    let (text, kind) = split_kind(rest.get(at + cut..)?);

    let mut property = Property {
        for_,
        level,
        importance,
        ..bare(name.trim(), kind, "")
    };
    property.default = some_text(default);
    set_range(&mut property, range.trim());
    set_text(&mut property, text);
    Some(property)
}

/// Cuts the type off the end of the text.
fn split_kind(text: &str) -> (&str, Kind) {
    let (text, kind) = text.rsplit_once("<br>*Type: ").unwrap_or((text, ""));
    let kind = match kind.trim_end().trim_end_matches('*') {
        "integer" => Kind::Integer,
        "float" => Kind::Float,
        "boolean" => Kind::Boolean,
        "enum value" => Kind::Enum,
        "CSV flags" => Kind::Flags,
        "pattern list" => Kind::PatternList,
        "see dedicated API" => Kind::Pointer,
        _ => Kind::String,
    };
    (text.trim_end(), kind)
}

fn set_range(property: &mut Property, range: &str) {
    match property.kind {
        Kind::Integer | Kind::Float => {
            property.range = range.split_once(" .. ").and_then(|(min, max)| {
                Some(Range {
                    min: number(min.trim())?,
                    max: number(max.trim())?,
                })
            });
        }
        _ => {
            property.values = range
                .split(',')
                .map(str::trim)
                .filter(|v| !v.is_empty())
                .map(str::to_owned)
                .collect();
        }
    }
}

fn number(text: &str) -> Option<serde_json::Number> {
    match text.parse::<i64>() {
        Ok(n) => Some(n.into()),
        Err(_) => serde_json::Number::from_f64(text.parse().ok()?),
    }
}

fn set_text(property: &mut Property, mut text: &str) {
    if let Some(rest) = text.strip_prefix("**EXPERIMENTAL**: subject to change or removal. ") {
        property.experimental = true;
        text = rest;
    }
    if let Some(rest) = text.strip_prefix("**DEPRECATED** ") {
        property.deprecated = true;
        text = rest;
    }
    if let Some((name, rest)) = text
        .strip_prefix("Alias for `")
        .and_then(|rest| rest.split_once("`: "))
    {
        property.alias_of = Some(name.to_owned());
        text = rest;
    }
    property.text = text.trim().to_owned();
}
