//! Which broker does what: leaders and followers of partitions.

use super::{Brokers, Cluster};
use crate::error::{Error, Result};
use crate::record::KABI_BROKER_NONE;

/// What the mock cluster takes for "no broker".
const NONE: i32 = -1;

impl Cluster {
    pub fn leader(&self, topic: &str, partition: i32, broker: i32) -> Result<()> {
        self.change(|state| {
            let broker = state.brokers.one_or_none(broker)?;
            state.known_partition(topic, partition)?;
            state.mock.set_leader(topic, partition, broker)
        })
    }

    /// The broker that consumers are sent to for reading.
    pub fn follower(&self, topic: &str, partition: i32, broker: i32) -> Result<()> {
        self.change(|state| {
            let broker = state.brokers.one_or_none(broker)?;
            state.known_partition(topic, partition)?;
            state.mock.set_follower(topic, partition, broker)
        })
    }

    /// The first offset that the follower has, and the one after its last; -1 for the leader's.
    pub fn follower_watermarks(
        &self,
        topic: &str,
        partition: i32,
        low: i64,
        high: i64,
    ) -> Result<()> {
        for (what, offset) in [("low", low), ("high", high)] {
            if offset < -1 {
                return Err(Error::argument(format!(
                    "the {what} watermark is {offset}: it is an offset, or -1 for the leader's"
                )));
            }
        }
        if low >= 0 && high >= 0 && low > high {
            return Err(Error::argument(format!(
                "the low watermark {low} is above the high one, {high}"
            )));
        }
        self.change(|state| {
            state.known_partition(topic, partition)?;
            state
                .mock
                .set_follower_watermarks(topic, partition, low, high)
        })
    }

    /// The next answer to a client about the leader names this one, whoever it is.
    pub fn leader_answer(
        &self,
        topic: &str,
        partition: i32,
        broker: i32,
        leader_epoch: i32,
    ) -> Result<()> {
        if leader_epoch < -1 {
            return Err(Error::argument(format!(
                "the leader's epoch is {leader_epoch}: it is 0 or more, or -1 for none"
            )));
        }
        self.change(|state| {
            let broker = state.brokers.one_or_none(broker)?;
            state.known_partition(topic, partition)?;
            state
                .mock
                .push_leader(topic, partition, broker, leader_epoch)
        })
    }
}

impl Brokers {
    fn one_or_none(&self, broker: i32) -> Result<i32> {
        if broker == KABI_BROKER_NONE {
            return Ok(NONE);
        }
        self.check_one(broker)?;
        Ok(broker)
    }
}
