//! The brokers: which there are, up or down, slow, where they say they are, and what they ask of clients.

use super::{in_range, Cluster, BROKERS_MAX, LATENCY_MAX_MS};
use crate::error::{Error, Result};
use crate::rd::mock;
use crate::record::KABI_BROKER_ALL;
use crate::status::KABI_STATUS_STATE;
use std::collections::BTreeSet;

const ID_MAX: i32 = 10_000;
const RACK_MAX: usize = 255;
/// librdkafka cuts off what is longer.
const HOST_MAX: usize = 127;
const METRICS_MAX: usize = 1_000;
const PUSH_MAX_MS: i32 = 600_000;

/// Which brokers there are.
pub(super) struct Brokers {
    ids: BTreeSet<i32>,
    /// Those with ids up to this are named to clients for the beginning.
    first: i32,
    /// The cluster was told which metrics clients are to send.
    asks: bool,
}

impl Brokers {
    pub fn new(first: i32) -> Brokers {
        Brokers {
            ids: (1..=first).collect(),
            first,
            asks: false,
        }
    }

    pub fn count(&self) -> i32 {
        i32::try_from(self.ids.len()).unwrap_or(BROKERS_MAX)
    }

    /// That there is this broker, or that all are meant.
    pub fn check(&self, broker: i32) -> Result<()> {
        if broker == KABI_BROKER_ALL || self.ids.contains(&broker) {
            return Ok(());
        }
        let ids: Vec<String> = self.ids.iter().map(i32::to_string).collect();
        Err(Error::argument(format!(
            "there is no broker {broker}: there are {}, or KABI_BROKER_ALL",
            ids.join(", ")
        )))
    }

    pub fn check_one(&self, broker: i32) -> Result<()> {
        if broker == KABI_BROKER_ALL {
            return Err(Error::argument(
                "KABI_BROKER_ALL stands for no single broker, which is asked for here",
            ));
        }
        self.check(broker)
    }

    /// One, or all.
    pub fn meant_by(&self, broker: i32) -> Vec<i32> {
        match broker {
            KABI_BROKER_ALL => self.ids.iter().copied().collect(),
            one => vec![one],
        }
    }
}

impl Cluster {
    /// Leaders stay where they are.
    pub fn broker_down(&self, broker: i32) -> Result<()> {
        self.change(|state| {
            state.brokers.check(broker)?;
            state.mock.broker_down(broker)
        })
    }

    pub fn broker_up(&self, broker: i32) -> Result<()> {
        self.change(|state| {
            state.brokers.check(broker)?;
            state.mock.broker_up(broker)
        })
    }

    /// A further broker. The copies of all partitions are placed anew, and their leaders chosen.
    pub fn broker_add(&self, broker: i32) -> Result<()> {
        in_range("the broker's id", broker, 1, ID_MAX)?;
        self.change(|state| {
            if state.brokers.ids.contains(&broker) {
                return Err(Error::argument(format!(
                    "there is a broker {broker} already"
                )));
            }
            in_range(
                "the number of brokers",
                state.brokers.count() + 1,
                1,
                BROKERS_MAX,
            )?;
            mock::probe(1)?;
            state.mock.broker_add(broker)?;
            state.brokers.ids.insert(broker);
            Ok(())
        })
    }

    /// A broker goes for good. The copies of all partitions are placed anew, and their leaders chosen.
    pub fn broker_remove(&self, broker: i32) -> Result<()> {
        self.change(|state| {
            state.brokers.check_one(broker)?;
            let first = state.brokers.first;
            let ways_in = state.brokers.ids.range(..=first).count();
            if broker <= first && ways_in == 1 {
                return Err(Error::argument(format!(
                    "broker {broker} is the last of those that kabi_cluster_bootstrap() names: no client \
                     would find the cluster any more"
                )));
            }
            state.mock.broker_remove(broker)?;
            state.brokers.ids.remove(&broker);
            Ok(())
        })
    }

    /// Where clients are told that a broker is; it stays where it was.
    pub fn broker_address(&self, broker: i32, host: &str, port: i32) -> Result<()> {
        in_range("the port", port, 1, i32::from(u16::MAX))?;
        if host.is_empty() || host.len() > HOST_MAX {
            return Err(Error::argument(format!(
                "the host is {} bytes long, not from 1 to {HOST_MAX}",
                host.len()
            )));
        }
        self.change(|state| {
            state.brokers.check_one(broker)?;
            state.mock.set_address(broker, host, port)
        })
    }

    pub fn latency(&self, broker: i32, ms: i32) -> Result<()> {
        in_range("the latency in ms", ms, 0, LATENCY_MAX_MS)?;
        self.change(|state| {
            state.brokers.check(broker)?;
            state.mock.set_latency(broker, ms)
        })
    }

    /// What clients are told of a broker, or of all.
    pub fn rack(&self, broker: i32, rack: &str) -> Result<()> {
        if rack.len() > RACK_MAX {
            return Err(Error::argument(format!(
                "the rack is {} bytes long, more than {RACK_MAX}",
                rack.len()
            )));
        }
        self.change(|state| {
            state.brokers.check(broker)?;
            state.mock.set_rack(broker, rack)
        })
    }

    /// Brokers ask clients for these metrics. Once only: the mock cluster forgets to free the first when it is
    /// told others.
    pub fn telemetry(&self, metrics: &[&str], interval_ms: i32) -> Result<()> {
        in_range("the interval in ms", interval_ms, 1, PUSH_MAX_MS)?;
        if metrics.is_empty() || metrics.len() > METRICS_MAX {
            return Err(Error::argument(format!(
                "{} metrics are asked for, not from 1 to {METRICS_MAX}",
                metrics.len()
            )));
        }
        self.change(|state| {
            if state.brokers.asks {
                return Err(Error::new(
                    KABI_STATUS_STATE,
                    "the cluster asks for metrics already, and what it asks for can't be changed",
                ));
            }
            state.mock.set_telemetry(metrics, interval_ms)?;
            state.brokers.asks = true;
            Ok(())
        })
    }
}
