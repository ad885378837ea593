//! The operations by name: what reads their arguments, hands them over, and reads their answers.

use super::arguments::{self, Checked};
use super::service::{refusal_of, unexpected};
use super::steps::{self, Steps};
use crate::document as d;
use crate::error::{Error, Result};
use crate::rd::admin::{Ask, Asked};
use crate::rd::queue::Event;
use serde::de::DeserializeOwned;
use serde::Serialize;

/// Reads the answer of a request from its event, as a JSON document.
pub type Reader = fn(&Event) -> Result<String>;

/// What hands a request over.
type Hand = Box<dyn Fn(&Asked<'_>) -> Result<()>>;

/// A request whose arguments were found good.
pub struct Request {
    pub operation: &'static str,
    pub work: Work,
}

pub enum Work {
    /// librdkafka does it.
    Ask { ask: Hand, read: Reader },
    /// A thread of ours does it, step by step.
    Steps(Steps),
}

impl Request {
    pub fn reader(&self) -> Reader {
        match &self.work {
            Work::Ask { read, .. } => *read,
            Work::Steps(_) => |_| Err(unexpected()),
        }
    }
}

/// An operation that programs name.
pub struct Operation {
    pub name: &'static str,
    /// Its arguments hold secrets, so their values are not repeated in errors.
    secret: bool,
    work: fn(&Operation, &str) -> Result<Work>,
}

/// Arguments of an operation.
pub trait Named: DeserializeOwned + Checked {
    const NAME: &'static str;
    const SECRET: bool = false;
}

fn asked<T>(operation: &Operation, json: &str) -> Result<Work>
where
    T: Named + Ask<Answer: Serialize> + 'static,
{
    arguments::parse::<T>(json, operation.secret).map(work_of)
}

fn work_of<T>(arguments: T) -> Work
where
    T: Ask<Answer: Serialize> + 'static,
{
    Work::Ask {
        ask: Box::new(move |to| arguments.ask(to)),
        read: |event| {
            refusal_of(event)?;
            let answer = T::answer(event).ok_or_else(unexpected)?;
            document(&answer)
        },
    }
}

fn metadata(operation: &Operation, json: &str) -> Result<Work> {
    let ask = arguments::parse(json, operation.secret)?;
    Ok(Work::Steps(steps::metadata(ask)))
}

fn acls(operation: &Operation, json: &str) -> Result<Work> {
    let ask = arguments::parse(json, operation.secret)?;
    Ok(Work::Steps(steps::acls(ask)))
}

pub(super) fn document(answer: &impl Serialize) -> Result<String> {
    serde_json::to_string(answer).map_err(|e| {
        Error::new(
            crate::status::KABI_STATUS_FAIL,
            format!("the answer can't be written as JSON: {e}"),
        )
    })
}

macro_rules! operations {
    ($($name:literal $arguments:ident $work:expr $(, $secret:ident)?;)*) => {
        $(impl Named for d::$arguments {
            const NAME: &'static str = $name;
            $(const SECRET: bool = operations!(@ $secret);)?
        })*

        /// All of them.
        pub static OPERATIONS: &[Operation] = &[$(Operation {
            name: $name,
            secret: <d::$arguments as Named>::SECRET,
            work: $work,
        },)*];
    };
    (@ secret) => { true };
}

operations! {
    "topics_create" TopicsCreate asked::<d::TopicsCreate>;
    "topics_delete" TopicsDelete asked::<d::TopicsDelete>;
    "topics_describe" TopicsDescribe asked::<d::TopicsDescribe>;
    "partitions_create" PartitionsCreate asked::<d::PartitionsCreate>;
    "records_delete" RecordsDelete asked::<d::RecordsDelete>;
    "leaders_elect" LeadersElect asked::<d::LeadersElect>;
    "configs_describe" ConfigsDescribe asked::<d::ConfigsDescribe>;
    "configs_alter" ConfigsAlter asked::<d::ConfigsAlter>, secret;
    "configs_alter_incremental" ConfigsAlterIncremental asked::<d::ConfigsAlterIncremental>, secret;
    "cluster_describe" ClusterDescribe asked::<d::ClusterDescribe>;
    "metadata" MetadataAsk metadata;
    "groups_list" GroupsList asked::<d::GroupsList>;
    "groups_describe" GroupsDescribe asked::<d::GroupsDescribe>;
    "groups_delete" GroupsDelete asked::<d::GroupsDelete>;
    "group_offsets_list" GroupOffsetsList asked::<d::GroupOffsetsList>;
    "group_offsets_alter" GroupOffsetsAlter asked::<d::GroupOffsetsAlter>;
    "group_offsets_delete" GroupOffsetsDelete asked::<d::GroupOffsetsDelete>;
    "offsets_list" OffsetsList asked::<d::OffsetsList>;
    "acls_create" AclsCreate asked::<d::AclsCreate>;
    "acls_describe" AclsDescribe acls;
    "acls_delete" AclsDelete asked::<d::AclsDelete>;
    "scram_users_describe" ScramUsersDescribe asked::<d::ScramUsersDescribe>;
    "scram_users_alter" ScramUsersAlter asked::<d::ScramUsersAlter>, secret;
}

/// A request from an operation's name and its arguments as JSON.
pub fn request(name: &str, json: &str) -> Result<Request> {
    let operation = OPERATIONS
        .iter()
        .find(|operation| operation.name == name)
        .ok_or_else(|| unknown(name))?;
    let work = (operation.work)(operation, json).map_err(|e| e.about(operation.name))?;
    Ok(Request {
        operation: operation.name,
        work,
    })
}

/// A request from arguments that are there already.
pub fn typed<T>(arguments: T) -> Result<Request>
where
    T: Named + Ask<Answer: Serialize> + 'static,
{
    arguments.check().map_err(|e| e.about(T::NAME))?;
    Ok(Request {
        operation: T::NAME,
        work: work_of(arguments),
    })
}

fn unknown(name: &str) -> Error {
    let names = || OPERATIONS.iter().map(|o| o.name);
    let shown: String = name.chars().take(64).collect();
    let hint = match arguments::nearest(name, names()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("there are: {}", names().collect::<Vec<_>>().join(", ")),
    };
    Error::argument(format!("there is no operation {shown:?}; {hint}"))
}

/// How one item fared.
pub struct OneStatus {
    pub code: i32,
    pub text: String,
}

/// The status of the only item in the answer of a request that was made for one.
pub(super) fn first_status(document: &str) -> Result<OneStatus> {
    let answer: serde_json::Value = serde_json::from_str(document).map_err(|_| unexpected())?;
    let status = answer.pointer("/topics/0/status").ok_or_else(unexpected)?;
    let code = status.get("code").and_then(|c| c.as_i64());
    let text = status.get("text").and_then(|t| t.as_str());
    Ok(OneStatus {
        code: code
            .and_then(|c| i32::try_from(c).ok())
            .ok_or_else(unexpected)?,
        text: text.unwrap_or_default().to_owned(),
    })
}
