//! The embedded cluster: Kafka brokers inside the process, with faults on demand. It checks what
//! librdkafka's mock cluster would accept in silence, and spaces calls that would make it sleep.

use crate::error::{Error, Result};
use crate::rd::mock::Mock;
use crate::record::KABI_BROKER_ALL;
use crate::status::{self, KABI_STATUS_TRANSPORT};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Each broker takes a listening socket and a connection or two for each client.
pub const BROKERS_MAX: i32 = 100;
pub const PARTITIONS_MAX: i32 = 10_000;
pub const LATENCY_MAX_MS: i32 = 600_000;
pub const ERRORS_MAX: usize = 100_000;

/// The requests that the mock cluster answers, by Kafka's API keys (rd_kafka_mock_api_handlers in
/// librdkafka's rdkafka_mock_handlers.c).
const REQUESTS: &[i16] = &[
    0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 18, 22, 23, 24, 25, 26, 28, 68, 71, 72,
];

/// The mock cluster's thread clears its wake-up pipe after it has served its queue: a call that comes
/// between the two waits for the thread's next round, up to a second. Calls this far apart don't meet it.
const GAP: Duration = Duration::from_micros(200);

pub struct Cluster {
    state: Mutex<State>,
    brokers: i32,
    bootstrap: String,
}

struct State {
    mock: Mock,
    last: Instant,
}

impl Cluster {
    /// Brokers with the ids 1 to `brokers`, on ports of 127.0.0.1 that the system chooses.
    pub fn new(brokers: i32) -> Result<Cluster> {
        in_range("the number of brokers", brokers, 1, BROKERS_MAX)?;
        let mock = Mock::new(brokers)?;
        // As small test installations of Kafka are set up: a group of one does not wait 3 s for more.
        mock.set_rebalance_delay(0);
        let bootstrap = mock.bootstrap();
        let state = Mutex::new(State {
            mock,
            last: Instant::now(),
        });
        Ok(Cluster {
            state,
            brokers,
            bootstrap,
        })
    }

    /// For the property bootstrap.servers.
    pub fn bootstrap(&self) -> &str {
        &self.bootstrap
    }

    pub fn create_topic(&self, name: &str, partitions: i32, replication: i32) -> Result<()> {
        topic_name(name)?;
        in_range("the number of partitions", partitions, 1, PARTITIONS_MAX)?;
        in_range(
            "the replication (at most one copy a broker)",
            replication,
            1,
            self.brokers,
        )?;
        self.call(|mock| mock.create_topic(name, partitions, replication))
    }

    /// Leaders stay where they are.
    pub fn broker_down(&self, broker: i32) -> Result<()> {
        self.known_broker(broker)?;
        self.call(|mock| mock.broker_down(broker))
    }

    pub fn broker_up(&self, broker: i32) -> Result<()> {
        self.known_broker(broker)?;
        self.call(|mock| mock.broker_up(broker))
    }

    pub fn latency(&self, broker: i32, ms: i32) -> Result<()> {
        self.known_broker(broker)?;
        in_range("the latency in ms", ms, 0, LATENCY_MAX_MS)?;
        self.call(|mock| mock.set_latency(broker, ms))
    }

    /// The next `count` requests of a kind fail with `code`, after those that wait already.
    pub fn inject_errors(&self, request: i32, code: i32, count: usize) -> Result<()> {
        let key = i16::try_from(request)
            .ok()
            .filter(|key| REQUESTS.contains(key));
        let key = key.ok_or_else(|| {
            Error::argument(format!(
                "the embedded cluster answers no requests of kind {request} (a KABI_REQUEST_*)"
            ))
        })?;
        // A broker's own codes are positive, or -1; TRANSPORT makes the mock close the connection, and
        // 0 lets a request through between two that fail.
        let known = status::name(code) != c"UNKNOWN_CODE";
        if !(known && (code >= -1 || code == KABI_STATUS_TRANSPORT)) {
            return Err(Error::argument(format!(
                "{code} ({}) is no error that a broker answers with; KABI_STATUS_TRANSPORT closes \
                 the connection instead",
                crate::error::name(code)
            )));
        }
        if count == 0 || count > ERRORS_MAX {
            return Err(Error::argument(format!(
                "the number of errors is {count}, not from 1 to {ERRORS_MAX}"
            )));
        }
        self.lock().mock.push_errors(key, &vec![code; count]);
        Ok(())
    }

    fn known_broker(&self, broker: i32) -> Result<()> {
        if broker == KABI_BROKER_ALL || (1..=self.brokers).contains(&broker) {
            return Ok(());
        }
        Err(Error::argument(format!(
            "there is no broker {broker}: ids are 1 to {}, or KABI_BROKER_ALL",
            self.brokers
        )))
    }

    fn call(&self, work: impl FnOnce(&Mock) -> Result<()>) -> Result<()> {
        let mut state = self.lock();
        state.keep_gap();
        let result = work(&state.mock);
        state.last = Instant::now();
        result
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
