//! Operations that take several steps, each on a thread of its own while it lasts.
//!
//! Metadata: librdkafka lists all topics by a blocking call only, and tells racks only where it describes the
//! cluster. ACLs: librdkafka 2.12 drops the error of a broker that refuses to list them, so that "not
//! allowed" reads as "there are none"; what this client may do with the cluster tells the two apart.

use super::operations::document;
use super::service::{refusal_of, unexpected};
use super::Core;
use crate::client::lifetime::{deadline_of, remaining, Held};
use crate::client::threads;
use crate::document as d;
use crate::error::{Error, Result};
use crate::rd::admin::{self, Ask, Asked, Seen};
use crate::status::{
    KABI_STATUS_QUEUE_FULL, KABI_STATUS_SYSTEM, KABI_STATUS_TIMED_OUT, KABI_STATUS_TRANSPORT,
    KABI_STATUS_UNKNOWN_BROKER,
};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The blocking call is done in slices, so that a close is seen. An answer that comes after its slice is
/// lost, so each is longer than the one before.
const FIRST_SLICE: Duration = Duration::from_millis(250);
const LAST_SLICE: Duration = Duration::from_secs(4);
/// How long one broker has to answer at first, before another is asked.
const ONE_BROKER: Duration = Duration::from_secs(3);
/// Waits on a queue look for a close this often.
const SLICE: Duration = Duration::from_millis(50);

/// Kafka's code for what a client may not do with the cluster.
const CLUSTER_AUTHORIZATION_FAILED: i32 = 31;
/// Kafka's code for a partition without a leader.
const LEADER_NOT_AVAILABLE: i32 = 5;

/// Each takes a thread.
const WALKS_MAX: usize = 16;

/// One of the threads, counted while it lives.
struct Walking(Held<Core>);

impl Drop for Walking {
    fn drop(&mut self) {
        self.0.walking.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Takes the steps and gives the answer's document.
pub type Steps = Box<dyn FnOnce(&Walk<'_>) -> Result<String> + Send>;

/// What steps are taken with.
pub struct Walk<'a> {
    core: &'a Core,
    deadline: Instant,
}

pub(super) fn start(core: Held<Core>, steps: Steps, number: u64, timeout: Duration) -> Result<()> {
    if core.walking.fetch_add(1, Ordering::SeqCst) >= WALKS_MAX {
        core.walking.fetch_sub(1, Ordering::SeqCst);
        return Err(Error::new(
            KABI_STATUS_QUEUE_FULL,
            format!("{WALKS_MAX} requests of this kind are under way"),
        ));
    }
    let walking = Walking(core);
    let work = move || {
        let core = &walking.0;
        let walk = Walk {
            core,
            deadline: deadline_of(Some(timeout)).unwrap_or_else(Instant::now),
        };
        let outcome = steps(&walk);
        core.requests.settle(number, outcome);
    };
    threads::spawn("kafkabi-steps", work)
        .map_err(|e| Error::new(KABI_STATUS_SYSTEM, format!("starting a thread: {e}")))
}

pub fn metadata(ask: d::MetadataAsk) -> Steps {
    Box::new(move |walk| {
        let (seen, cluster) = walk.look_closely(ask.topics.is_none())?;
        let topics = match ask.topics {
            None => seen.topics,
            Some(topics) => {
                let describe = d::TopicsDescribe {
                    topics,
                    authorized_operations: false,
                };
                let described = walk.ask(&describe, seen.broker)?;
                described.topics.into_iter().map(by_number).collect()
            }
        };
        document(&d::Metadata {
            cluster: cluster.id,
            controller: cluster.controller.map(|c| c.id),
            brokers: cluster.brokers,
            failed: d::failed(&topics),
            topics,
        })
    })
}

/// Whether another broker may well answer.
fn is_of_the_broker(code: i32) -> bool {
    matches!(
        code,
        KABI_STATUS_TIMED_OUT | KABI_STATUS_TRANSPORT | KABI_STATUS_UNKNOWN_BROKER
    )
}

fn by_number(topic: d::TopicDescription) -> d::TopicMetadata {
    let ids = |nodes: Vec<d::Node>| nodes.into_iter().map(|n| n.id).collect();
    let partitions = topic.partitions.into_iter().map(|p| d::PartitionMetadata {
        partition: p.partition,
        status: d::Status::of(match p.leader {
            Some(_) => 0,
            None => LEADER_NOT_AVAILABLE,
        }),
        leader: p.leader.map(|n| n.id),
        replicas: ids(p.replicas),
        in_sync: ids(p.in_sync),
    });
    d::TopicMetadata {
        topic: topic.topic,
        status: topic.status,
        partitions: partitions.collect(),
    }
}

pub fn acls(ask: d::AclsDescribe) -> Steps {
    Box::new(move |walk| {
        let found = walk.ask(&ask, None)?;
        if found.acls.is_empty() {
            let cluster = d::ClusterDescribe {
                authorized_operations: true,
            };
            let rights = walk.ask(&cluster, None)?.authorized_operations;
            let may = |r: &Vec<String>| r.iter().any(|right| right == "describe");
            if !rights.as_ref().is_none_or(may) {
                return Err(Error::of_code(CLUSTER_AUTHORIZATION_FAILED, "listing ACLs"));
            }
        }
        document(&found)
    })
}

impl Walk<'_> {
    /// What is left of the time, if the walk is to go on.
    fn left(&self) -> Result<Duration> {
        if self.core.control.is_stopping() {
            return Err(Error::closed("admin"));
        }
        match remaining(Some(self.deadline)) {
            Some(left) if !left.is_zero() => Ok(left),
            _ => Err(Error::new(
                KABI_STATUS_TIMED_OUT,
                "no broker answered in the time given",
            )),
        }
    }

    /// Asks any broker, with its topics or without.
    fn look_around(&self, topics: bool) -> Result<Seen> {
        let mut slice = FIRST_SLICE;
        loop {
            let left = self.left()?;
            match admin::metadata(&self.core.client, topics, slice.min(left)) {
                Err(e) if e.code == KABI_STATUS_TIMED_OUT => slice = (slice * 2).min(LAST_SLICE),
                Err(e) if e.code == KABI_STATUS_TRANSPORT => std::thread::sleep(SLICE),
                other => return other,
            }
        }
    }

    /// The same, and the cluster's description by the broker that answered, so that the two fit together. That one may be
    /// gone by then, or said to be where it is not: librdkafka would wait for it, so others are asked.
    fn look_closely(&self, topics: bool) -> Result<(Seen, d::ClusterDescription)> {
        let question = d::ClusterDescribe {
            authorized_operations: false,
        };
        let mut patience = ONE_BROKER;
        loop {
            let seen = self.look_around(topics)?;
            let attempt = Walk {
                core: self.core,
                deadline: self.deadline.min(Instant::now() + patience),
            };
            match attempt.ask(&question, seen.broker) {
                Err(e) if is_of_the_broker(e.code) && attempt.deadline < self.deadline => {
                    patience *= 2;
                    std::thread::sleep(SLICE);
                }
                other => return other.map(|cluster| (seen, cluster)),
            }
        }
    }

    /// Asks on a queue of its own and waits for the answer.
    fn ask<T: Ask>(&self, ask: &T, broker: Option<i32>) -> Result<T::Answer> {
        let queue = self
            .core
            .client
            .private_queue()
            .ok_or_else(|| Error::system("making a queue"))?;
        ask.ask(&Asked {
            client: &self.core.client,
            queue: &queue,
            number: 0,
            timeout: self.left()?,
            broker,
        })?;
        loop {
            if let Some(event) = queue.poll(Some(SLICE)) {
                refusal_of(&event)?;
                return T::answer(&event).ok_or_else(unexpected);
            }
            // The request ends by itself, at the deadline or a moment later.
            if self.core.control.is_stopping() {
                return Err(Error::closed("admin"));
            }
        }
    }
}
