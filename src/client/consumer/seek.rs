//! Moving read positions.

use super::{Consumer, Core, Key, Partition, SLICE};
use crate::client::lifetime::{deadline_of, remaining_up_to};
use crate::error::{Error, Result};
use crate::rd::partitions::PartitionList;
use crate::record::{KABI_OFFSET_BEGINNING, KABI_OFFSET_END, KABI_OFFSET_STORED};
use crate::status::{KABI_STATUS_OK, KABI_STATUS_STATE, KABI_STATUS_TIMED_OUT};
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
        mut status: impl FnMut(usize, i32),
    ) -> Result<()> {
        partitions.iter().try_for_each(check_target)?;
        let core = &*self.core;
        core.list(partitions)?;
        let deadline = deadline_of(timeout);
        let wakes = core.wakes.load(Ordering::SeqCst);
        let assigned: HashSet<Key> = self.assignment()?.into_iter().collect();
        core.visit(|pull| {
            let mut first_error = Ok(());
            for (i, p) in partitions.iter().enumerate() {
                let outcome = if assigned.contains(&p.key) {
                    core.seek_one(p, deadline, || core.go_on(wakes, "seek"))
                } else {
                    Err(Error::new(KABI_STATUS_STATE, "the partition is not assigned"))
                };
                match outcome {
                    Ok(()) => {
                        let numbers = &mut pull.numbers;
                        let key = p.key;
                        pull.withheld
                            .retain(|m| (core.number(numbers, m), m.partition()) != key);
                        core.forget(p)?;
                        status(i, KABI_STATUS_OK);
                    }
                    Err(error) => {
                        status(i, error.code);
                        if first_error.is_ok() {
                            let name = &core.topics.get(p.key.0)?.name;
                            let message =
                                format!("seek of {name}[{}]: {}", p.key.1, error.message);
                            first_error = Err(Error { message, ..error });
                        }
                    }
                }
            }
            first_error
        })
    }
}

impl Core {
    /// Seeks one partition. One that was assigned just now refuses for some milliseconds, until its
    /// start offset is known; that is waited for.
    fn seek_one(
        &self,
        p: &Partition<'_>,
        deadline: Option<Instant>,
        mut go_on: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        loop {
            let mut list = self.list(std::slice::from_ref(p))?;
            let slice = remaining_up_to(deadline, SLICE);
            self.client.seek(&mut list, slice.max(Duration::from_millis(1)))?;
            let code = list.iter().next().map_or(KABI_STATUS_OK, |e| e.code());
            match code {
                KABI_STATUS_OK => return Ok(()),
                KABI_STATUS_STATE | KABI_STATUS_TIMED_OUT if !slice.is_zero() => {
                    go_on()?;
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
        let target = if p.offset >= 0 { p.offset } else { crate::record::KABI_OFFSET_INVALID };
        list.add(&self.topics.get(p.key.0)?.name, p.key.1)?.offset(target);
        self.tracking.with(|state| {
            state.moved(p.key, (p.offset >= 0).then_some(p.offset));
            self.client.store_offsets(&mut list);
        });
        Ok(())
    }
}
