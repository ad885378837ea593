//! Moving read positions.

use super::change::Later;
use super::gate::Pull;
use super::starts::Impatience;
use super::{Consumer, Core, Key, Partition, SLICE};
use crate::client::lifetime::{deadline_of, remaining, remaining_up_to};
use crate::error::{Error, Result};
use crate::rd::client::Change;
use crate::rd::partitions::PartitionList;
use crate::record::{KABI_OFFSET_BEGINNING, KABI_OFFSET_END, KABI_OFFSET_STORED};
use crate::status::{
    KABI_STATUS_OK, KABI_STATUS_OUTDATED, KABI_STATUS_STATE, KABI_STATUS_TIMED_OUT,
};
use std::collections::HashSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

fn check_target(p: &Partition<'_>) -> Result<()> {
    match p.offset {
        0.. | KABI_OFFSET_BEGINNING | KABI_OFFSET_END | KABI_OFFSET_STORED => Ok(()),
        other => Err(Error::argument(format!(
            "seek to offset {other}: it is 0 or more, KABI_OFFSET_BEGINNING, KABI_OFFSET_END or \
             KABI_OFFSET_STORED"
        ))),
    }
}

impl Consumer {
    /// Moves the read positions of assigned partitions. `status` is told of each one's outcome; the
    /// result is the first that failed.
    pub fn seek(
        &self,
        partitions: &[Partition<'_>],
        timeout: Option<Duration>,
        timeout_ms: i32,
        mut status: impl FnMut(usize, i32),
    ) -> Result<()> {
        partitions.iter().try_for_each(check_target)?;
        let core = &*self.core;
        core.list(partitions)?;
        let deadline = deadline_of(timeout);
        let wakes = core.wakes.load(Ordering::SeqCst);
        let go_on = || core.go_on(wakes, "seek");
        let stored = self.stored_targets(partitions, deadline, timeout_ms)?;
        let mut first_error = Ok(());
        let mut note = |i: usize, p: &Partition<'_>, outcome: Result<()>| {
            status(i, outcome.as_ref().err().map_or(KABI_STATUS_OK, |e| e.code));
            if let (Err(error), Ok(())) = (outcome, &first_error) {
                let name = core.topics.get(p.key.0).map_or("?", |entry| &entry.name);
                let message = format!("seek of {name}[{}]: {}", p.key.1, error.message);
                first_error = Err(Error { message, ..error });
            }
        };
        if core.gate.is_in_change() {
            for (i, p) in stored.iter().enumerate() {
                note(i, p, core.seek_later(p));
            }
            return first_error;
        }
        let visit = core.gate.visit(deadline, go_on, || core.bell.ring())?;
        let mut visit = visit.ok_or_else(|| Error::timed_out("seek", timeout_ms))?;
        visit.with(|pull| {
            let assigned: HashSet<Key> = core.assignment()?.into_iter().collect();
            for (i, p) in stored.iter().enumerate() {
                let outcome = if assigned.contains(&p.key) {
                    core.seek_now(pull, p, deadline, go_on)
                } else {
                    Err(not_assigned())
                };
                note(i, p, outcome);
            }
            Ok(())
        })?;
        first_error
    }

    /// librdkafka can't seek to what is committed: that is asked for first. Where nothing is, the
    /// property auto.offset.reset decides, which it does for an invalid offset.
    fn stored_targets<'a>(
        &self,
        partitions: &[Partition<'a>],
        deadline: Option<Instant>,
        timeout_ms: i32,
    ) -> Result<Vec<Partition<'a>>> {
        let mut targets = partitions.to_vec();
        let keys: Vec<Key> = partitions
            .iter()
            .filter(|p| p.offset == KABI_OFFSET_STORED)
            .map(|p| p.key)
            .collect();
        if keys.is_empty() {
            return Ok(targets);
        }
        let committed = self.committed(&keys, remaining(deadline), timeout_ms)?;
        let stored = targets
            .iter_mut()
            .filter(|p| p.offset == KABI_OFFSET_STORED);
        for (target, answer) in stored.zip(committed) {
            if answer.code != KABI_STATUS_OK {
                return Err(Error::of_code(
                    answer.code,
                    "seek: asking what is committed",
                ));
            }
            target.offset = answer.offset;
            target.leader_epoch = answer.leader_epoch;
        }
        Ok(targets)
    }
}

fn not_assigned() -> Error {
    Error::new(KABI_STATUS_STATE, "the partition is not assigned")
}

impl Core {
    /// Seeks one assigned partition, and drops what was pulled of it.
    pub(super) fn seek_now(
        &self,
        pull: &mut Pull,
        p: &Partition<'_>,
        deadline: Option<Instant>,
        go_on: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        self.seek_one(p, deadline, go_on)?;
        let Pull {
            withheld, aside, ..
        } = pull;
        withheld.retain(|m| m.partition() != p.key);
        aside.retain(|m| m.partition() != p.key);
        self.forget(p)
    }

    /// Inside a handler of an assignment change: what is being assigned begins there, what is assigned
    /// already is moved when the poll goes on.
    fn seek_later(&self, p: &Partition<'_>) -> Result<()> {
        let assigned = self.assigned_in_change()?;
        if !assigned.contains(&p.key) {
            return Err(not_assigned());
        }
        self.tracking.with(|state| {
            match &mut state.pending {
                Some(pending) if pending.keys.contains(&p.key) => {
                    pending.offsets.insert(p.key, (p.offset, p.leader_epoch));
                }
                _ => state.changes.later.push(Later::Seek {
                    key: p.key,
                    offset: p.offset,
                    leader_epoch: p.leader_epoch,
                }),
            }
            state.moved(p.key, (p.offset >= 0).then_some(p.offset));
        });
        Ok(())
    }

    /// What is assigned once the change under way is applied.
    pub(super) fn assigned_in_change(&self) -> Result<HashSet<Key>> {
        let mut assigned: HashSet<Key> = self.assignment()?.into_iter().collect();
        self.tracking.with(|state| {
            if let Some(pending) = &state.pending {
                match pending.change {
                    Change::Assign => assigned.extend(&pending.keys),
                    Change::Revoke | Change::Lost => {
                        assigned.retain(|key| !pending.keys.contains(key));
                    }
                }
            }
        });
        Ok(assigned)
    }

    /// Seeks one partition. One that was assigned just now refuses for some milliseconds, which are waited for.
    fn seek_one(
        &self,
        p: &Partition<'_>,
        deadline: Option<Instant>,
        mut go_on: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let mut impatience = Impatience::new();
        loop {
            let mut list = self.list(std::slice::from_ref(p))?;
            let slice = remaining_up_to(deadline, SLICE);
            let code = match self
                .client
                .seek(&mut list, slice.max(Duration::from_millis(1)))
            {
                // The slice was too short for librdkafka's thread; asked once more it goes to the same place.
                Err(error) if error.code == KABI_STATUS_TIMED_OUT => error.code,
                outcome => {
                    outcome.map(|()| list.iter().next().map_or(KABI_STATUS_OK, |e| e.code()))?
                }
            };
            match code {
                KABI_STATUS_OK => return Ok(()),
                // Outdated: something else moved the partition at the same moment, such as its assignment.
                KABI_STATUS_STATE | KABI_STATUS_TIMED_OUT | KABI_STATUS_OUTDATED => {
                    if slice.is_zero() {
                        return Err(Error::new(
                            KABI_STATUS_TIMED_OUT,
                            "the time was up before the partition's start offset was known",
                        ));
                    }
                    go_on()?;
                    impatience.look(self);
                    // There is no event for "the start offset is known".
                    std::thread::sleep(slice.min(Duration::from_millis(2)));
                }
                code => return Err(Error::new(code, crate::error::text(code))),
            }
        }
    }

    /// What was handed out of a partition before a seek counts no more, and what was stored of it is
    /// set back, which librdkafka leaves to us.
    fn forget(&self, p: &Partition<'_>) -> Result<()> {
        let mut list = PartitionList::new(1)?;
        let target = if p.offset >= 0 {
            p.offset
        } else {
            crate::record::KABI_OFFSET_INVALID
        };
        list.add(&self.topics.get(p.key.0)?.name, p.key.1)?
            .offset(target);
        self.tracking.with(|state| {
            state.moved(p.key, (p.offset >= 0).then_some(p.offset));
            self.client.store_offsets(&mut list);
        });
        Ok(())
    }
}
