//! Metadata, on a thread for each request: librdkafka lists all topics by a blocking call only, and tells
//! racks only where it describes the cluster. Both are asked, and the answers put together.

use super::operations::document;
use super::service::{refusal_of, unexpected};
use super::Core;
use crate::client::lifetime::{deadline_of, remaining, Held};
use crate::document as d;
use crate::error::{Error, Result};
use crate::rd::admin::{all_topics, Ask, Asked};
use crate::rd::signals;
use crate::status::{KABI_STATUS_SYSTEM, KABI_STATUS_TIMED_OUT};
use std::time::{Duration, Instant};

/// The blocking call is done in slices, so that a close is seen. An answer that comes after its slice is
/// lost, so each is longer than the one before.
const FIRST_SLICE: Duration = Duration::from_millis(250);
const LAST_SLICE: Duration = Duration::from_secs(4);
/// Waits on a queue look for a close this often.
const SLICE: Duration = Duration::from_millis(50);

pub(super) fn start(
    core: Held<Core>,
    ask: d::MetadataAsk,
    number: u64,
    timeout: Duration,
) -> Result<()> {
    let work = move || {
        let deadline = deadline_of(Some(timeout)).unwrap_or_else(Instant::now);
        let outcome = gather(&core, &ask, deadline);
        core.requests
            .settle(number, outcome.and_then(|m| document(&m)));
    };
    signals::spawn("kafkabi-meta", work)
        .map(drop)
        .map_err(|e| Error::new(KABI_STATUS_SYSTEM, format!("starting a thread: {e}")))
}

fn gather(core: &Core, ask: &d::MetadataAsk, deadline: Instant) -> Result<d::Metadata> {
    let cluster = d::ClusterDescribe {
        authorized_operations: false,
    };
    let cluster = wait_for(core, &cluster, deadline)?;
    let topics = match &ask.topics {
        None => all(core, deadline)?,
        Some(names) => {
            let describe = d::TopicsDescribe {
                topics: names.clone(),
                authorized_operations: false,
            };
            let described = wait_for(core, &describe, deadline)?;
            described.topics.into_iter().map(by_number).collect()
        }
    };
    Ok(d::Metadata {
        cluster: cluster.id,
        controller: cluster.controller.map(|c| c.id),
        brokers: cluster.brokers,
        failed: d::failed(&topics),
        topics,
    })
}

fn by_number(topic: d::TopicDescription) -> d::TopicMetadata {
    let ids = |nodes: Vec<d::Node>| nodes.into_iter().map(|n| n.id).collect();
    let partitions = topic.partitions.into_iter().map(|p| d::PartitionMetadata {
        partition: p.partition,
        // As brokers say of a partition without a leader: LEADER_NOT_AVAILABLE.
        status: d::Status::of(if p.leader.is_some() { 0 } else { 5 }),
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

fn look(core: &Core, deadline: Instant) -> Result<Duration> {
    if core.control.is_stopping() {
        return Err(Error::closed("admin"));
    }
    match remaining(Some(deadline)) {
        Some(left) if !left.is_zero() => Ok(left),
        _ => Err(late()),
    }
}

fn late() -> Error {
    Error::new(
        KABI_STATUS_TIMED_OUT,
        "no broker answered in the time given",
    )
}

fn all(core: &Core, deadline: Instant) -> Result<Vec<d::TopicMetadata>> {
    let mut slice = FIRST_SLICE;
    loop {
        let left = look(core, deadline)?;
        match all_topics(&core.client, slice.min(left)) {
            Err(e) if e.code == KABI_STATUS_TIMED_OUT => slice = (slice * 2).min(LAST_SLICE),
            Err(e) if e.code == crate::status::KABI_STATUS_TRANSPORT => std::thread::sleep(SLICE),
            other => return other,
        }
    }
}

/// Asks on a queue of its own and waits for the answer.
fn wait_for<T: Ask>(core: &Core, ask: &T, deadline: Instant) -> Result<T::Answer> {
    let queue = core
        .client
        .private_queue()
        .ok_or_else(|| Error::system("making a queue"))?;
    ask.ask(&Asked {
        client: &core.client,
        queue: &queue,
        number: 0,
        timeout: look(core, deadline)?,
    })?;
    loop {
        if let Some(event) = queue.poll(Some(SLICE)) {
            refusal_of(&event)?;
            return T::answer(&event).ok_or_else(unexpected);
        }
        // The request ends by itself, at the deadline or a moment later.
        if core.control.is_stopping() {
            return Err(Error::closed("admin"));
        }
    }
}
