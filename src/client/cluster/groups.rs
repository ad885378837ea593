//! Coordinators, and what they do with consumer groups.

use super::{in_range, Cluster};
use crate::error::{Error, Result};
use crate::rd::mock::Coordinator;
use crate::rd::partitions::PartitionList;
use crate::record::{KABI_COORDINATOR_GROUP, KABI_COORDINATOR_TRANSACTION};
use std::collections::BTreeMap;

const DELAY_MAX_MS: i32 = 600_000;
const KEY_MAX: usize = 32_767;

/// Member id → topic → partitions.
type Target = BTreeMap<String, BTreeMap<String, Vec<i32>>>;

impl Cluster {
    /// The broker that keeps a group (by its id) or a transaction (by its transactional id).
    pub fn coordinator(&self, kind: i32, key: &str, broker: i32) -> Result<()> {
        let kind = match kind {
            KABI_COORDINATOR_GROUP => Coordinator::Group,
            KABI_COORDINATOR_TRANSACTION => Coordinator::Transaction,
            other => {
                return Err(Error::argument(format!(
                    "{other} is no kind of coordinator (a KABI_COORDINATOR_*)"
                )))
            }
        };
        check_key(key)?;
        self.change(|state| {
            state.brokers.check_one(broker)?;
            state.mock.set_coordinator(kind, key, broker)
        })
    }

    /// How long a new group of the classic protocol waits for further members.
    pub fn group_delay(&self, ms: i32) -> Result<()> {
        in_range("the delay in ms", ms, 0, DELAY_MAX_MS)?;
        self.lock().mock.set_rebalance_delay(ms);
        Ok(())
    }

    /// What members of groups by the protocol of KIP-848 are told.
    pub fn group_timing(&self, session_timeout_ms: i32, heartbeat_interval_ms: i32) -> Result<()> {
        in_range(
            "the session time-out in ms",
            session_timeout_ms,
            1,
            DELAY_MAX_MS,
        )?;
        in_range(
            "the heartbeat interval in ms",
            heartbeat_interval_ms,
            1,
            session_timeout_ms,
        )?;
        self.lock()
            .mock
            .set_group_timing(session_timeout_ms, heartbeat_interval_ms);
        Ok(())
    }

    /// What the members of a group by the protocol of KIP-848 are to have; `None` lets the cluster
    /// assign by itself again.
    pub fn group_target(&self, group: &str, json: Option<&str>) -> Result<()> {
        check_key(group)?;
        let target = json.map(parse).transpose()?;
        let state = self.lock();
        let Some(target) = target else {
            return state.mock.set_target_assignment(group, None);
        };
        let mut lists = Vec::with_capacity(target.len());
        for (member, topics) in target {
            let mut list = PartitionList::new(topics.len())?;
            for (topic, partitions) in topics {
                for partition in partitions {
                    state
                        .known_partition(&topic, partition)
                        .map_err(|e| Error {
                            message: format!("/{member}/{topic}: {}", e.message),
                            ..e
                        })?;
                    list.add(&topic, partition)?;
                }
            }
            lists.push((member, list));
        }
        state.mock.set_target_assignment(group, Some(&lists))
    }
}

fn parse(json: &str) -> Result<Target> {
    serde_json::from_str(json).map_err(|fault| {
        Error::argument(format!(
            "the target assignment is not {{\"member id\": {{\"topic\": [partition, ...]}}}}: {fault}"
        ))
    })
}

fn check_key(key: &str) -> Result<()> {
    if key.is_empty() || key.len() > KEY_MAX {
        return Err(Error::argument(format!(
            "the group or transactional id is {} bytes long, not from 1 to {KEY_MAX}",
            key.len()
        )));
    }
    Ok(())
}
