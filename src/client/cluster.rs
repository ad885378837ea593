//! The embedded cluster: Kafka brokers inside the process, with faults on demand. It checks what
//! librdkafka's mock cluster would accept in silence, and spaces calls that would make it sleep. Here are
//! brokers and topics; faults, placement, groups and what is read back are in the modules below.

mod brokers;
mod contents;
mod faults;
mod groups;
mod placement;
mod requests;

use brokers::Brokers;
pub use contents::Contents;
pub use faults::ERRORS_MAX;

use crate::client::lifetime::lock;
use crate::error::{Error, Result};
use crate::rd::mock::Mock;
use crate::status::{KABI_STATUS_CLOSED, KABI_STATUS_UNKNOWN_TOPIC_OR_PART};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Each broker takes a listening socket and a connection or two for each client.
pub const BROKERS_MAX: i32 = 100;
pub const PARTITIONS_MAX: i32 = 10_000;
pub const LATENCY_MAX_MS: i32 = 600_000;
/// The mock cluster's thread clears its wake-up pipe after it has served its queue: a call that comes
/// between the two waits for the thread's next round, up to a second. Calls this far apart don't meet it.
const GAP: Duration = Duration::from_micros(200);

pub struct Cluster {
    state: Mutex<State>,
    bootstrap: String,
    /// It is being freed: calls that wait give up.
    ending: AtomicBool,
}

struct State {
    mock: Mock,
    last: Instant,
    brokers: Brokers,
    /// The topics made by `create_topic`, and how many partitions each has. The mock cluster can't be
    /// asked for its topics, and its calls make those that it doesn't have.
    topics: HashMap<String, i32>,
}

impl Cluster {
    /// Brokers with the ids 1 to `brokers`, on ports of 127.0.0.1 that the system chooses.
    pub fn new(brokers: i32) -> Result<Cluster> {
        in_range("the number of brokers", brokers, 1, BROKERS_MAX)?;
        let mock = Mock::new(brokers)?;
        // As small test installations of Kafka are set up: a group of one does not wait 3 s for more.
        mock.set_rebalance_delay(0);
        for kind in requests::LIMITED.map(i32::from).map(requests::find) {
            let kind = kind?;
            mock.set_api_versions(kind.key, kind.min, kind.max)?;
        }
        let bootstrap = mock.bootstrap();
        let state = Mutex::new(State {
            mock,
            last: Instant::now(),
            brokers: Brokers::new(brokers),
            topics: HashMap::new(),
        });
        Ok(Cluster {
            state,
            bootstrap,
            ending: AtomicBool::new(false),
        })
    }

    /// For the property bootstrap.servers.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    pub fn create_topic(&self, name: &str, partitions: i32, replication: i32) -> Result<()> {
        topic_name(name)?;
        in_range("the number of partitions", partitions, 1, PARTITIONS_MAX)?;
        self.change(|state| {
            in_range(
                "the replication (at most one copy a broker)",
                replication,
                1,
                state.brokers.count(),
            )?;
            state.mock.create_topic(name, partitions, replication)?;
            state.topics.insert(name.to_owned(), partitions);
            Ok(())
        })
    }

    /// Calls that wait give up, as the cluster is about to go.
    pub fn begin_end(&self) {
        self.ending.store(true, Ordering::SeqCst);
    }

    fn check_alive(&self) -> Result<()> {
        if self.ending.load(Ordering::SeqCst) {
            return Err(Error::new(
                KABI_STATUS_CLOSED,
                "the cluster was freed meanwhile",
            ));
        }
        Ok(())
    }

    fn call(&self, work: impl FnOnce(&Mock) -> Result<()>) -> Result<()> {
        self.change(|state| work(&state.mock))
    }

    /// For calls that the cluster's thread answers.
    fn change(&self, work: impl FnOnce(&mut State) -> Result<()>) -> Result<()> {
        let mut state = self.lock();
        state.keep_gap();
        let result = work(&mut state);
        state.last = Instant::now();
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Stopping the cluster is a call like the others.
        self.state
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .keep_gap();
    }
}

impl State {
    /// A topic that `create_topic` made, and a partition of it.
    fn known_topic(&self, topic: &str) -> Result<i32> {
        self.topics.get(topic).copied().ok_or_else(|| {
            Error::new(
                KABI_STATUS_UNKNOWN_TOPIC_OR_PART,
                format!(
                    "the cluster knows no topic {topic:?}: make it by kabi_cluster_topic_create() \
                     (topics that clients made by asking for them don't count)"
                ),
            )
        })
    }

    fn known_partition(&self, topic: &str, partition: i32) -> Result<()> {
        let partitions = self.known_topic(topic)?;
        if (0..partitions).contains(&partition) {
            return Ok(());
        }
        Err(Error::new(
            KABI_STATUS_UNKNOWN_TOPIC_OR_PART,
            format!(
                "topic {topic:?} has no partition {partition}: it has 0 to {}",
                partitions - 1
            ),
        ))
    }

    fn keep_gap(&self) {
        if let Some(wait) = GAP.checked_sub(self.last.elapsed()) {
            std::thread::sleep(wait);
        }
    }
}

fn in_range(what: &str, value: i32, min: i32, max: i32) -> Result<()> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    Err(Error::argument(format!(
        "{what} is {value}, not from {min} to {max}"
    )))
}

/// The names that Kafka's brokers accept.
fn topic_name(name: &str) -> Result<()> {
    const MAX: usize = 249;
    let legal = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-');
    if name.is_empty() || name.len() > MAX {
        return Err(Error::argument(format!(
            "the topic name is {} bytes long, not from 1 to {MAX}",
            name.len()
        )));
    }
    if name == "." || name == ".." || !name.bytes().all(legal) {
        return Err(Error::argument(format!(
            "the topic name {name:?} is not legal: letters, digits, '.', '_' and '-' are, but not \
             \".\" and \"..\" alone"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
