//! What can be read back: the requests that came, and the records of a partition. The mock cluster gives
//! records to nobody but consumers, so a consumer of our own reads them.

use super::{topic_name, Cluster};
use crate::client::config::Config;
use crate::client::lifetime::{deadline_of, remaining, remaining_up_to};
use crate::client::packed;
use crate::error::{Error, Result};
use crate::rd::client::{Client, Hooks, Kind};
use crate::rd::partitions::PartitionList;
use crate::rd::received::{Messages, Received};
use crate::rd::topic::Topic;
use crate::record::{kabi_request_t, KABI_ERROR_RETRIABLE, KABI_OFFSET_BEGINNING};
use crate::status::{
    KABI_STATUS_BUFFER_TOO_SMALL, KABI_STATUS_PARTITION_EOF, KABI_STATUS_TIMED_OUT,
    KABI_STATUS_UNKNOWN_TOPIC_OR_PART,
};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How soon a wait sees that the cluster is being freed.
const SLICE: Duration = Duration::from_millis(50);
/// Records taken from librdkafka at once.
const CHUNK: usize = 1000;
/// Topic numbers belong to a client of the program's, and none is meant here.
const NO_TOPIC: i32 = -1;

/// What was written to a buffer.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Contents {
    pub count: usize,
    /// Bytes written, or needed by the first record with BUFFER_TOO_SMALL.
    pub size: usize,
}

/// Why reading stops before the time is up.
enum Stop {
    End,
    Full { needed: usize },
}

impl Cluster {
    /// From now on the requests that come are kept, or no more; either way none are there yet.
    pub fn track_requests(&self, on: bool) {
        self.lock().mock.track_requests(on);
    }

    pub fn requests(&self) -> Vec<kabi_request_t> {
        self.lock().mock.requests()
    }

    /// Packs a partition's records from `offset` on into `buffer`, as many as fit, up to the end that the
    /// partition has when it is reached. `contents` tells what was written also when this fails.
    pub fn records(
        &self,
        topic: &str,
        partition: i32,
        offset: i64,
        buffer: &mut [u8],
        timeout: Option<Duration>,
        contents: &mut Contents,
    ) -> Result<()> {
        topic_name(topic)?;
        if partition < 0 {
            return Err(Error::argument(format!(
                "there is no partition {partition}"
            )));
        }
        if offset < 0 && offset != KABI_OFFSET_BEGINNING {
            return Err(Error::argument(format!(
                "{offset} is no offset to read from: 0 or more, or KABI_OFFSET_BEGINNING"
            )));
        }
        {
            // Others may have been made by clients.
            let state = self.lock();
            if state.topics.contains_key(topic) {
                state.known_partition(topic, partition)?;
            }
        }
        let deadline = deadline_of(timeout);
        let client = self.reader()?;
        self.find(&client, topic, partition, deadline)?;
        let queue = client
            .consumer_queue()
            .ok_or_else(|| Error::system("asking for the reader's queue"))?;
        let mut list = PartitionList::new(1)?;
        list.add(topic, partition)?.offset(offset);
        client.assign(Some(&list))?;
        loop {
            let mut messages = Messages::new(&client);
            let number = |_: usize, _: &str| NO_TOPIC;
            queue.consume(remaining_up_to(deadline, SLICE), 1, &mut messages, number);
            if !messages.is_empty() {
                queue.consume(Duration::ZERO, CHUNK, &mut messages, number);
            }
            for message in messages.iter() {
                match put(message, topic, partition, buffer, contents)? {
                    None => {}
                    Some(Stop::End) => return Ok(()),
                    Some(Stop::Full { .. }) if contents.count > 0 => return Ok(()),
                    Some(Stop::Full { needed }) => return Err(too_small(contents, needed, buffer)),
                }
            }
            self.check_alive()?;
            if remaining(deadline) == Some(Duration::ZERO) {
                return Err(not_in_time(topic, partition, contents.count));
            }
        }
    }

    /// A consumer waits for a topic that is not there, or may not be read, so it is asked for first.
    fn find(
        &self,
        client: &Arc<Client>,
        topic: &str,
        partition: i32,
        deadline: Option<Instant>,
    ) -> Result<()> {
        let asked = Topic::new(client, topic)?;
        let mut slice = SLICE;
        let (code, partitions) = loop {
            match client.ask_topic(&asked, remaining_up_to(deadline, slice)) {
                Err(error) if error.flags & KABI_ERROR_RETRIABLE == 0 => return Err(error),
                Err(_) => {}
                Ok(told) => break told,
            }
            self.check_alive()?;
            if remaining(deadline) == Some(Duration::ZERO) {
                return Err(not_in_time(topic, partition, 0));
            }
            // An answer may be held back for longer than that.
            slice = slice.saturating_mul(2);
        };
        let doing = format!("reading {topic}/{partition}");
        match code {
            0 if partition < partitions => Ok(()),
            0 => Err(Error::of_code(KABI_STATUS_UNKNOWN_TOPIC_OR_PART, &doing)),
            code => Err(Error::of_code(code, &doing)),
        }
    }

    fn reader(&self) -> Result<Arc<Client>> {
        let mut config = Config::new();
        for (name, value) in [
            ("bootstrap.servers", self.bootstrap()),
            ("client.id", "kabi_cluster_records"),
            ("enable.partition.eof", "true"),
            ("auto.offset.reset", "error"),
            ("fetch.wait.max.ms", "10"),
            ("kafkabi.log", "off"),
        ] {
            config.set(name, value)?;
        }
        let (conf, settings) = config.build(Kind::Consumer)?;
        Client::new(Kind::Consumer, conf, settings.events, Hooks::default())
    }
}

fn not_in_time(topic: &str, partition: i32, count: usize) -> Error {
    Error::new(
        KABI_STATUS_TIMED_OUT,
        format!("the end of {topic}/{partition} was not reached in time, after {count} records"),
    )
}

fn put(
    message: &Received,
    topic: &str,
    partition: i32,
    buffer: &mut [u8],
    contents: &mut Contents,
) -> Result<Option<Stop>> {
    match message.code() {
        0 => {}
        KABI_STATUS_PARTITION_EOF => return Ok(Some(Stop::End)),
        code => {
            return Err(Error::of_code(
                code,
                &format!("reading {topic}/{partition}"),
            ))
        }
    }
    let room = buffer.get_mut(contents.size..).unwrap_or_default();
    match packed::encode(message, room) {
        Ok(size) => {
            contents.count += 1;
            contents.size += size;
            Ok(None)
        }
        Err(needed) => Ok(Some(Stop::Full { needed })),
    }
}

fn too_small(contents: &mut Contents, needed: usize, buffer: &[u8]) -> Error {
    contents.size = needed;
    Error::new(
        KABI_STATUS_BUFFER_TOO_SMALL,
        format!(
            "a buffer of {} bytes was given, the first record needs {needed}",
            buffer.len()
        ),
    )
}
