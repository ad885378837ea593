//! Arguments from JSON: read strictly, then checked beyond their types. An error says where in the document
//! the fault is, and which name was likely meant.

use crate::client::topics;
use crate::document as d;
use crate::error::{Error, Result};
use serde::de::DeserializeOwned;

/// Checks that types don't express.
pub trait Checked {
    fn check(&self) -> Result<()>;
}

/// Reads a document. With `secret`, values that don't fit are not repeated in the error.
pub fn parse<T: DeserializeOwned + Checked>(json: &str, secret: bool) -> Result<T> {
    let mut reader = serde_json::Deserializer::from_str(json);
    let arguments: T = serde_path_to_error::deserialize(&mut reader).map_err(|fault| {
        let path = fault.path().to_string();
        refused(&path, fault.inner(), secret)
    })?;
    reader.end().map_err(|fault| refused(".", &fault, secret))?;
    arguments.check()?;
    Ok(arguments)
}

fn refused(path: &str, fault: &serde_json::Error, secret: bool) -> Error {
    let (line, column) = (fault.line(), fault.column());
    let mut text = fault.to_string();
    let position = format!(" at line {line} column {column}");
    if let Some(start) = text.strip_suffix(&position) {
        text.truncate(start.len());
    }
    if let Some(hint) = suggestion(&text) {
        text = hint;
    } else if secret && fault.is_data() {
        text = without_value(&text);
    }
    let path = match path {
        "." | "?" => String::new(),
        path => format!("at {path}: "),
    };
    Error::argument(format!(
        "the arguments are not what they should be: {path}{text} (line {line}, column {column})"
    ))
}

/// serde says: unknown field `x`, expected one of `a`, `b`. This says which of them is near.
fn suggestion(text: &str) -> Option<String> {
    let rest = text.strip_prefix("unknown ")?;
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let given = quoted.next()?;
    let near = nearest(given, quoted)?;
    Some(format!("{text}; did you mean `{near}`?"))
}

/// serde says: invalid type: string "the value", expected an integer. This keeps the end, which is ours.
fn without_value(text: &str) -> String {
    match (text.split_once(": "), text.rsplit_once(", expected ")) {
        (Some((what, _)), Some((_, expected))) => format!("{what}, expected {expected}"),
        _ => text.to_owned(),
    }
}

/// The name that is like the given one, if any is.
pub fn nearest<'a>(given: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    names
        .map(|name| (strsim::jaro_winkler(&given.to_lowercase(), name), name))
        .filter(|(likeness, _)| *likeness >= 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

fn fault(path: impl std::fmt::Display, why: impl std::fmt::Display) -> Error {
    Error::argument(format!("at {path}: {why}"))
}

fn some<T>(list: &[T], path: &str) -> Result<()> {
    if list.is_empty() {
        return Err(fault(path, "the list is empty"));
    }
    Ok(())
}

/// Runs a check on each item and puts its place before the error.
fn each<T>(list: &[T], path: &str, check: impl Fn(&T) -> Result<()>) -> Result<()> {
    for (index, item) in list.iter().enumerate() {
        check(item).map_err(|e| {
            let inner = e.message.strip_prefix("at ");
            let text = match inner {
                Some(inner) => format!("at {path}[{index}].{inner}"),
                None => format!("at {path}[{index}]: {}", e.message),
            };
            Error::argument(text)
        })?;
    }
    Ok(())
}

fn topic(name: &str) -> Result<()> {
    topics::check_name(name).map_err(|e| fault("topic", e.message))
}

fn partition(name: &str, partition: i32) -> Result<()> {
    topic(name)?;
    not_negative(partition.into(), "partition")
}

fn not_negative(number: i64, path: &str) -> Result<()> {
    if number < 0 {
        return Err(fault(path, format_args!("{number} is negative")));
    }
    Ok(())
}

fn partitions(list: &[d::TopicPartition], path: &str) -> Result<()> {
    some(list, path)?;
    each(list, path, |p| partition(&p.topic, p.partition))
}

fn optional_partitions(list: Option<&Vec<d::TopicPartition>>) -> Result<()> {
    list.map_or(Ok(()), |list| partitions(list, "partitions"))
}

fn named(name: &str, path: &str) -> Result<()> {
    if name.is_empty() {
        return Err(fault(path, "the name is empty"));
    }
    Ok(())
}

fn names(list: &[String], path: &str) -> Result<()> {
    some(list, path)?;
    each(list, path, |name| {
        if name.is_empty() {
            return Err(Error::argument("the name is empty"));
        }
        Ok(())
    })
}

fn topic_names(list: &[String]) -> Result<()> {
    some(list, "topics")?;
    each(list, "topics", |name| topics::check_name(name))
}

fn placement(placement: Option<&Vec<Vec<i32>>>) -> Result<()> {
    let Some(placement) = placement else {
        return Ok(());
    };
    some(placement, "placement")?;
    each(placement, "placement", |brokers| {
        if brokers.is_empty() {
            return Err(Error::argument("no broker is given"));
        }
        Ok(())
    })
}

impl Checked for d::TopicsCreate {
    fn check(&self) -> Result<()> {
        some(&self.topics, "topics")?;
        each(&self.topics, "topics", new_topic)
    }
}

fn new_topic(new: &d::NewTopic) -> Result<()> {
    topic(&new.topic)?;
    placement(new.placement.as_ref())?;
    for (number, path) in [
        (new.partitions, "partitions"),
        (new.replication, "replication"),
    ] {
        if let Some(number) = number.filter(|n| *n < 1) {
            let why = format!("{number} is less than 1; leave it out for the brokers' default");
            return Err(fault(path, why));
        }
    }
    let Some(placement) = &new.placement else {
        return Ok(());
    };
    if new.replication.is_some() {
        return Err(fault("replication", "placement says it already"));
    }
    match new.partitions {
        Some(n) if usize::try_from(n) != Ok(placement.len()) => Err(fault(
            "partitions",
            format_args!("{n}, but placement lists {}", placement.len()),
        )),
        _ => Ok(()),
    }
}

impl Checked for d::TopicsDelete {
    fn check(&self) -> Result<()> {
        topic_names(&self.topics)
    }
}

impl Checked for d::TopicsDescribe {
    fn check(&self) -> Result<()> {
        topic_names(&self.topics)
    }
}

impl Checked for d::MetadataAsk {
    fn check(&self) -> Result<()> {
        self.topics.as_ref().map_or(Ok(()), |t| topic_names(t))
    }
}

impl Checked for d::PartitionsCreate {
    fn check(&self) -> Result<()> {
        some(&self.topics, "topics")?;
        each(&self.topics, "topics", |more| {
            topic(&more.topic)?;
            if more.total < 1 {
                return Err(fault(
                    "total",
                    format_args!("{} is less than 1", more.total),
                ));
            }
            placement(more.placement.as_ref())
        })
    }
}

impl Checked for d::RecordsDelete {
    fn check(&self) -> Result<()> {
        some(&self.partitions, "partitions")?;
        each(&self.partitions, "partitions", |p| {
            partition(&p.topic, p.partition)?;
            if p.before < -1 {
                let why = format!("{} is neither an offset nor -1 (the end)", p.before);
                return Err(fault("before", why));
            }
            Ok(())
        })
    }
}

impl Checked for d::LeadersElect {
    fn check(&self) -> Result<()> {
        optional_partitions(self.partitions.as_ref())
    }
}

fn resource(kind: d::ConfigOwner, name: &str) -> Result<()> {
    named(name, "name")?;
    if kind == d::ConfigOwner::Broker && name.parse::<u32>().is_err() {
        return Err(fault(
            "name",
            format_args!("{name:?} is not a broker's number"),
        ));
    }
    Ok(())
}

/// librdkafka asks one broker a request.
fn one_broker(kinds: impl Iterator<Item = d::ConfigOwner>) -> Result<()> {
    let brokers = kinds.filter(|kind| *kind == d::ConfigOwner::Broker);
    if brokers.count() > 1 {
        let why = "more than one broker; make a request for each";
        return Err(fault("resources", why));
    }
    Ok(())
}

impl Checked for d::ConfigsDescribe {
    fn check(&self) -> Result<()> {
        some(&self.resources, "resources")?;
        each(&self.resources, "resources", |r| {
            resource(r.kind, &r.name)?;
            r.properties
                .as_ref()
                .map_or(Ok(()), |p| names(p, "properties"))
        })?;
        one_broker(self.resources.iter().map(|r| r.kind))
    }
}

impl Checked for d::ConfigsAlter {
    fn check(&self) -> Result<()> {
        some(&self.resources, "resources")?;
        each(&self.resources, "resources", |r| {
            resource(r.kind, &r.name)?;
            match r.configs.keys().any(String::is_empty) {
                true => Err(fault("configs", "a property's name is empty")),
                false => Ok(()),
            }
        })?;
        one_broker(self.resources.iter().map(|r| r.kind))
    }
}

impl Checked for d::ConfigsAlterIncremental {
    fn check(&self) -> Result<()> {
        some(&self.resources, "resources")?;
        each(&self.resources, "resources", |r| {
            resource(r.kind, &r.name)?;
            some(&r.changes, "changes")?;
            each(&r.changes, "changes", change)
        })?;
        one_broker(self.resources.iter().map(|r| r.kind))
    }
}

fn change(change: &d::ConfigChange) -> Result<()> {
    named(&change.name, "name")?;
    let deletes = change.operation == d::ConfigOperation::Delete;
    match (&change.value, deletes) {
        (Some(_), true) => Err(fault("value", "\"delete\" takes none")),
        (None, false) => Err(fault("value", "it is missing; only \"delete\" takes none")),
        _ => Ok(()),
    }
}

impl Checked for d::ClusterDescribe {
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

impl Checked for d::GroupsList {
    fn check(&self) -> Result<()> {
        if let Some(states) = &self.states {
            some(states, "states")?;
        }
        self.types.as_ref().map_or(Ok(()), |t| some(t, "types"))
    }
}

impl Checked for d::GroupsDescribe {
    fn check(&self) -> Result<()> {
        names(&self.groups, "groups")
    }
}

impl Checked for d::GroupsDelete {
    fn check(&self) -> Result<()> {
        names(&self.groups, "groups")
    }
}

impl Checked for d::GroupOffsetsList {
    fn check(&self) -> Result<()> {
        named(&self.group, "group")?;
        optional_partitions(self.partitions.as_ref())
    }
}

impl Checked for d::GroupOffsetsAlter {
    fn check(&self) -> Result<()> {
        named(&self.group, "group")?;
        some(&self.offsets, "offsets")?;
        each(&self.offsets, "offsets", |new| {
            partition(&new.topic, new.partition)?;
            not_negative(new.offset, "offset")?;
            not_negative(new.leader_epoch.unwrap_or(0).into(), "leader_epoch")
        })
    }
}

impl Checked for d::GroupOffsetsDelete {
    fn check(&self) -> Result<()> {
        named(&self.group, "group")?;
        partitions(&self.partitions, "partitions")
    }
}

impl Checked for d::OffsetsList {
    fn check(&self) -> Result<()> {
        some(&self.partitions, "partitions")?;
        each(&self.partitions, "partitions", |p| {
            partition(&p.topic, p.partition)?;
            let by_time = p.at == d::OffsetAt::Timestamp;
            match p.timestamp {
                None if by_time => Err(fault("timestamp", "it is missing")),
                Some(_) if !by_time => {
                    Err(fault("timestamp", "only \"at\": \"timestamp\" takes one"))
                }
                Some(timestamp) => not_negative(timestamp, "timestamp"),
                None => Ok(()),
            }
        })
    }
}

impl Checked for d::AclsCreate {
    fn check(&self) -> Result<()> {
        some(&self.acls, "acls")?;
        each(&self.acls, "acls", new_acl)
    }
}

fn new_acl(acl: &d::NewAcl) -> Result<()> {
    named(&acl.resource, "resource")?;
    named(&acl.principal, "principal")?;
    named(&acl.host, "host")?;
    let for_filters = |word: &str| Err(format!("{word:?} is for filters only"));
    if acl.resource_type == d::AclResource::Any {
        for_filters("any").map_err(|e| fault("resource_type", e))
    } else if matches!(acl.pattern, d::AclPattern::Any | d::AclPattern::Match) {
        for_filters("any\" and \"match").map_err(|e| fault("pattern", e))
    } else if acl.operation == d::AclOperation::Any {
        for_filters("any").map_err(|e| fault("operation", e))
    } else if acl.permission == d::AclPermission::Any {
        for_filters("any").map_err(|e| fault("permission", e))
    } else {
        Ok(())
    }
}

impl Checked for d::AclsDescribe {
    fn check(&self) -> Result<()> {
        filter(&self.filter).map_err(|e| {
            let inner = e.message.strip_prefix("at ").unwrap_or(&e.message);
            Error::argument(format!("at filter.{inner}"))
        })
    }
}

impl Checked for d::AclsDelete {
    fn check(&self) -> Result<()> {
        some(&self.filters, "filters")?;
        each(&self.filters, "filters", |f| {
            if *f == d::AclFilter::default() {
                return Err(Error::argument(
                    "an empty filter would delete every rule; if that is meant, say \
                     {\"resource_type\": \"any\"}",
                ));
            }
            filter(f)
        })
    }
}

fn filter(filter: &d::AclFilter) -> Result<()> {
    for (text, path) in [
        (&filter.resource, "resource"),
        (&filter.principal, "principal"),
        (&filter.host, "host"),
    ] {
        if text.as_ref().is_some_and(String::is_empty) {
            return Err(fault(path, "it is empty; leave it out to match any"));
        }
    }
    Ok(())
}

impl Checked for d::ScramUsersDescribe {
    fn check(&self) -> Result<()> {
        self.users.as_ref().map_or(Ok(()), |u| names(u, "users"))
    }
}

impl Checked for d::ScramUsersAlter {
    fn check(&self) -> Result<()> {
        if self.upsertions.is_empty() && self.deletions.is_empty() {
            return Err(fault(
                "upsertions",
                "neither upsertions nor deletions are given",
            ));
        }
        each(&self.upsertions, "upsertions", |new| {
            named(&new.user, "user")?;
            if new.iterations < 1 {
                return Err(fault(
                    "iterations",
                    format_args!("{} is less than 1", new.iterations),
                ));
            }
            if new.password.reveal().is_empty() {
                return Err(fault("password", "it is empty"));
            }
            Ok(())
        })?;
        each(&self.deletions, "deletions", |old| named(&old.user, "user"))
    }
}
