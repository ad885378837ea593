//! What a consumer reads: by subscription, which lets the group decide, or by hand.

use super::{Consumer, Core, Key, Partition, SLICE};
use crate::error::{Error, Result};
use crate::rd::partitions::PartitionList;
use crate::rd::transaction::GroupMetadata;
use crate::record::{
    KABI_OFFSET_BEGINNING, KABI_OFFSET_END, KABI_OFFSET_INVALID, KABI_OFFSET_STORED,
};
use crate::status::KABI_STATUS_STATE;
use std::time::{Duration, Instant};

/// How long an unsubscribe waits until partitions are given back, which takes librdkafka a moment.
const GIVING_BACK: Duration = Duration::from_secs(5);

impl Consumer {
    /// Joins the group for these topics: names, or regular expressions that begin with '^'.
    pub fn subscribe<'a>(&self, topics: impl ExactSizeIterator<Item = &'a str>) -> Result<()> {
        self.need_group("subscribe")?;
        if topics.len() == 0 {
            return Err(Error::argument(
                "subscribe to no topics: use unsubscribe to leave",
            ));
        }
        let mut list = PartitionList::new(topics.len())?;
        for topic in topics {
            if !topic.starts_with('^') {
                crate::client::topics::check_name(topic)?;
            }
            list.add(topic, -1)?;
        }
        if self.core.tracking.with(|state| state.by_hand) {
            return Err(Error::new(
                KABI_STATUS_STATE,
                "subscribe while partitions are assigned by hand: assign none first",
            ));
        }
        self.core.client.subscribe(&list)
    }

    /// Leaves the group. Where no program has a say in it, the partitions are given back at once.
    pub fn unsubscribe(&self) -> Result<()> {
        let core = &*self.core;
        core.client.unsubscribe()?;
        if core.listener.is_some() || core.apply_by_call || core.gate.is_in_change() {
            return Ok(());
        }
        let deadline = Instant::now() + GIVING_BACK;
        self.visit("unsubscribe", |core, pull| {
            let by_hand = || core.tracking.with(|state| state.by_hand);
            while !by_hand() && Instant::now() < deadline && !core.client.assignment()?.is_empty() {
                core.pull_more(pull, SLICE, 1)?;
            }
            Ok(())
        })
    }

    /// The topics and expressions subscribed to.
    pub fn subscription(&self) -> Result<Vec<String>> {
        if !self.core.has_group {
            return Ok(Vec::new());
        }
        let list = self.core.client.subscription()?;
        Ok(list.iter().map(|e| e.topic().to_owned()).collect())
    }

    /// The name that the group knows this member by; empty before it has joined.
    pub fn member_id(&self) -> Result<String> {
        self.need_group("member id")?;
        Ok(self.core.client.member_id())
    }

    /// Group, generation and member in librdkafka's own form.
    pub fn group_metadata(&self) -> Result<Vec<u8>> {
        self.need_group("group metadata")?;
        self.core.client.group_metadata()
    }

    /// The generation that the group is in, as far as this member knows; below 0 if it is none.
    pub fn group_generation(&self) -> Result<i32> {
        self.need_group("group generation")?;
        Ok(GroupMetadata::of(&self.core.client)?.generation())
    }

    /// "NONE", "EAGER" or "COOPERATIVE".
    pub fn rebalance_protocol(&self) -> &'static str {
        self.core
            .client
            .rebalance_protocol()
            .to_str()
            .unwrap_or("NONE")
    }

    /// Reads exactly these partitions, from the offsets given.
    pub fn assign(&self, partitions: &[Partition<'_>]) -> Result<()> {
        partitions.iter().try_for_each(check_start)?;
        let list = self.core.list_to_begin(partitions)?;
        self.visit("assign", |core, pull| {
            core.need_no_subscription("assign")?;
            let before = core.assignment()?;
            core.resume_all(&core.tracking.with(|state| state.paused()));
            core.client.assign(None)?;
            core.wait_for_stop(&before);
            if !partitions.is_empty() {
                core.client.assign(Some(&list))?;
            }
            pull.withheld.retain(|_| false);
            pull.aside.retain(|_| false);
            core.tracking.with(|state| {
                state.assigned_anew();
                state.by_hand = !partitions.is_empty();
                for p in partitions.iter().filter(|p| p.offset >= 0) {
                    state.moved(p.key, Some(p.offset));
                }
            });
            Ok(())
        })?;
        self.watch_partitions();
        Ok(())
    }

    /// Reads these partitions too, from the offsets given.
    pub fn assign_more(&self, partitions: &[Partition<'_>]) -> Result<()> {
        partitions.iter().try_for_each(check_start)?;
        let list = self.core.list_to_begin(partitions)?;
        self.visit("incremental assign", |core, _| {
            core.need_no_subscription("incremental assign")?;
            let assigned = core.assignment()?;
            if let Some(again) = partitions.iter().find(|p| assigned.contains(&p.key)) {
                return Err(core.wrong_state(again.key, "is assigned already"));
            }
            core.client.incremental_assign(&list)?;
            core.tracking.with(|state| {
                state.generation += 1;
                state.by_hand = true;
                for p in partitions {
                    state.moved(p.key, (p.offset >= 0).then_some(p.offset));
                }
            });
            Ok(())
        })?;
        self.watch_partitions();
        Ok(())
    }

    /// Reads these partitions no more.
    pub fn unassign(&self, keys: &[Key]) -> Result<()> {
        let list = self.core.list_of(keys)?;
        self.visit("incremental unassign", |core, pull| {
            core.need_no_subscription("incremental unassign")?;
            let assigned = core.assignment()?;
            if let Some(&not) = keys.iter().find(|key| !assigned.contains(key)) {
                return Err(core.wrong_state(not, "is not assigned"));
            }
            core.resume_all(keys);
            core.client.incremental_unassign(&list)?;
            core.wait_for_stop(keys);
            core.tracking.with(|state| {
                state.generation += 1;
                state.by_hand = assigned.len() > keys.len();
                state.revoke(keys);
            });
            let earlier = pull.withheld.take();
            core.sort_out(pull, earlier);
            Ok(())
        })
    }

    /// The partitions assigned now, with their topics' numbers.
    pub fn assignment(&self) -> Result<Vec<Key>> {
        self.core.assignment()
    }
}

impl Core {
    pub(super) fn assignment(&self) -> Result<Vec<Key>> {
        let list = self.client.assignment()?;
        list.iter()
            .map(|e| {
                let topic = self.topics.number(&self.client, e.topic())?;
                Ok((topic, e.partition()))
            })
            .collect()
    }

    /// A list of librdkafka's with these partitions and where to begin. Without a group nothing is committed, and the
    /// coordinator of the invented one is not asked: it may not be there yet, or be out of bounds for this user.
    fn list_to_begin(&self, partitions: &[Partition<'_>]) -> Result<PartitionList> {
        let mut partitions = partitions.to_vec();
        if !self.has_group {
            for p in &mut partitions {
                if matches!(p.offset, KABI_OFFSET_STORED | KABI_OFFSET_INVALID) {
                    p.offset = self.beginning;
                }
            }
        }
        self.list(&partitions)
    }

    /// Partitions of a subscription are the group's to assign.
    fn need_no_subscription(&self, doing: &str) -> Result<()> {
        if !self.has_group {
            return Ok(());
        }
        let why = if !self.client.subscription()?.is_empty() {
            "topics are subscribed to, whose partitions the group assigns: unsubscribe first"
        } else if !self.tracking.with(|state| state.by_hand)
            && !self.client.assignment()?.is_empty()
        {
            "the group's partitions are not given back yet: poll for records first"
        } else {
            return Ok(());
        };
        Err(Error::new(
            KABI_STATUS_STATE,
            format!("{doing} while {why}"),
        ))
    }

    pub(super) fn wrong_state(&self, key: Key, why: &str) -> Error {
        let name = self.topics.get(key.0).map_or("?", |entry| &entry.name);
        Error::new(KABI_STATUS_STATE, format!("{name}[{}] {why}", key.1))
    }

    /// A list of librdkafka's with these partitions and no offsets.
    pub(super) fn list_of(&self, keys: &[Key]) -> Result<PartitionList> {
        let partitions: Vec<Partition<'_>> = keys
            .iter()
            .map(|&key| Partition {
                key,
                offset: crate::record::KABI_OFFSET_INVALID,
                leader_epoch: -1,
                metadata: None,
            })
            .collect();
        self.list(&partitions)
    }
}

impl Core {
    /// Waits until partitions that were unassigned have stopped. librdkafka aborts the process when one
    /// is assigned and unassigned again before (`rd_kafka_assignment_partition_stopped`).
    pub(super) fn wait_for_stop(&self, keys: &[Key]) {
        for &(topic, partition) in keys {
            if let Ok(entry) = self.topics.get(topic) {
                entry.topic.wait_for_partition(partition);
            }
        }
    }
}

/// librdkafka gives up the assignment of before when it refuses an offset, so that is done here.
fn check_start(p: &Partition<'_>) -> Result<()> {
    match p.offset {
        0..
        | KABI_OFFSET_BEGINNING
        | KABI_OFFSET_END
        | KABI_OFFSET_STORED
        | KABI_OFFSET_INVALID => Ok(()),
        other => Err(Error::argument(format!(
            "assign at offset {other}: it is 0 or more, or one of KABI_OFFSET_*"
        ))),
    }
}
