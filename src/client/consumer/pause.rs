//! Pausing partitions. librdkafka stops fetching them and drops what it has queued; what we have pulled of
//! them already is set aside, and comes first when they are resumed.

use super::change::Later;
use super::gate::Pull;
use super::{Consumer, Core, Key};
use crate::error::{Error, Result};
use crate::status::{KABI_STATUS_OK, KABI_STATUS_STATE};

impl Consumer {
    /// Hands out no records of these partitions until they are resumed. `status` is told of each one's
    /// outcome; the result is the first that failed.
    pub fn pause(&self, keys: &[Key], status: impl FnMut(usize, i32)) -> Result<()> {
        self.flow("pause", keys, status, Core::pause_now, Later::Pause)
    }

    /// Hands out records of paused partitions again. Those that are not paused are left alone.
    pub fn resume(&self, keys: &[Key], status: impl FnMut(usize, i32)) -> Result<()> {
        self.flow("resume", keys, status, Core::resume_now, Later::Resume)
    }

    /// The paused partitions, in order.
    pub fn paused(&self) -> Vec<Key> {
        self.core.tracking.with(|state| state.paused())
    }

    fn flow(
        &self,
        doing: &str,
        keys: &[Key],
        mut status: impl FnMut(usize, i32),
        now: impl FnOnce(&Core, &mut Pull, &[Key]) -> Result<Vec<i32>>,
        later: impl Fn(Key) -> Later,
    ) -> Result<()> {
        self.core.list_of(keys)?;
        let codes = if self.core.gate.is_in_change() {
            self.core.flow_later(keys, later)?
        } else {
            self.visit(doing, |core, pull| now(core, pull, keys))?
        };
        let mut first_error = Ok(());
        for (i, (&code, &(topic, partition))) in codes.iter().zip(keys).enumerate() {
            status(i, code);
            if code != KABI_STATUS_OK && first_error.is_ok() {
                let name = &self.core.topics.get(topic)?.name;
                let what = format!("{doing} of {name}[{partition}]");
                first_error = Err(match code {
                    KABI_STATUS_STATE => {
                        Error::new(code, format!("{what}: the partition is not assigned"))
                    }
                    code => Error::of_code(code, &what),
                });
            }
        }
        first_error
    }
}

impl Core {
    /// The status of each partition.
    pub(super) fn pause_now(&self, pull: &mut Pull, keys: &[Key]) -> Result<Vec<i32>> {
        let assigned = self.assignment()?;
        keys.iter()
            .map(|key| {
                if !assigned.contains(key) {
                    return Ok(KABI_STATUS_STATE);
                }
                if self.tracking.with(|state| state.is_paused(*key)) {
                    return Ok(KABI_STATUS_OK);
                }
                let mut list = self.list_of(&[*key])?;
                self.client.pause(&mut list)?;
                let code = list.iter().next().map_or(KABI_STATUS_OK, |e| e.code());
                if code == KABI_STATUS_OK {
                    self.tracking.with(|state| state.set_paused(*key, true));
                    let Pull {
                        withheld, aside, ..
                    } = pull;
                    let taken = withheld.take_if(|m| m.partition() == *key);
                    aside.append(taken);
                }
                Ok(code)
            })
            .collect()
    }

    /// The status of each partition.
    pub(super) fn resume_now(&self, pull: &mut Pull, keys: &[Key]) -> Result<Vec<i32>> {
        let assigned = self.assignment()?;
        keys.iter()
            .map(|key| {
                if !assigned.contains(key) {
                    return Ok(KABI_STATUS_STATE);
                }
                let code = self.resume_one(*key)?;
                if code == KABI_STATUS_OK {
                    let Pull {
                        withheld, aside, ..
                    } = pull;
                    // They are older than anything that librdkafka has of the partition.
                    let first = aside.take_if(|m| m.partition() == *key);
                    withheld.prepend(first);
                }
                Ok(code)
            })
            .collect()
    }

    fn resume_one(&self, key: Key) -> Result<i32> {
        // librdkafka starts a partition anew that is resumed without being paused.
        if !self.tracking.with(|state| state.is_paused(key)) {
            return Ok(KABI_STATUS_OK);
        }
        let mut list = self.list_of(&[key])?;
        self.client.resume(&mut list)?;
        let code = list.iter().next().map_or(KABI_STATUS_OK, |e| e.code());
        if code == KABI_STATUS_OK {
            self.tracking.with(|state| state.set_paused(key, false));
        }
        Ok(code)
    }

    /// Before partitions go: librdkafka remembers that they are paused, and would not let them flow when
    /// they come back.
    pub(super) fn resume_all(&self, keys: &[Key]) {
        for &key in keys {
            // Refused for one that is gone already, which is what is wanted.
            drop(self.resume_one(key));
        }
    }

    /// Inside a handler of an assignment change.
    fn flow_later(&self, keys: &[Key], later: impl Fn(Key) -> Later) -> Result<Vec<i32>> {
        let assigned = self.assigned_in_change()?;
        Ok(keys
            .iter()
            .map(|key| {
                if !assigned.contains(key) {
                    return KABI_STATUS_STATE;
                }
                self.tracking
                    .with(|state| state.changes.later.push(later(*key)));
                KABI_STATUS_OK
            })
            .collect())
    }
}
