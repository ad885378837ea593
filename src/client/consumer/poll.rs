//! Pulling records, on the program's thread. Rebalances happen inside, before any record of the new
//! assignment comes out.

use super::gate::Pull;
use super::ledger::HandedOut;
use super::{Consumer, Core};
use crate::client::lifetime::{deadline_of, remaining_up_to, Held};
use crate::client::packed;
use crate::error::{Error, Result};
use crate::rd::received::Batch;
use crate::record::kabi_record_t;
use crate::status::{
    KABI_STATUS_BUFFER_TOO_SMALL, KABI_STATUS_FATAL, KABI_STATUS_GROUP_AUTHORIZATION_FAILED,
    KABI_STATUS_PARTITION_EOF, KABI_STATUS_STATE,
};
use std::ffi::CStr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// More records at once gain nothing.
const BATCH_MAX: usize = 64 * 1024;
/// A wait for records looks up at least this often; wakes come sooner.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// Records handed out as views, alive until this is dropped.
pub struct HeldBatch {
    batch: Batch,
    core: Held<Core>,
    pub number: u64,
    pub generation: u64,
}

impl HeldBatch {
    pub fn views(&self) -> &[kabi_record_t] {
        self.batch.views()
    }

    pub fn headers<'a>(
        &'a self,
        index: usize,
        visit: impl FnMut(&'a CStr, Option<&'a [u8]>),
    ) -> Result<()> {
        self.batch
            .headers(index, visit)
            .ok_or_else(|| self.no_record(index))
    }

    pub fn broker(&self, index: usize) -> Result<i32> {
        self.batch
            .broker(index)
            .ok_or_else(|| self.no_record(index))
    }

    fn no_record(&self, index: usize) -> Error {
        Error::argument(format!(
            "the batch has no record {index}: it has {}",
            self.batch.views().len()
        ))
    }
}

impl Drop for HeldBatch {
    fn drop(&mut self) {
        self.core.batches.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Records handed out as bytes.
#[derive(Debug, Default, Clone, Copy)]
pub struct PackedBatch {
    pub number: u64,
    pub generation: u64,
    pub count: usize,
    /// Bytes written, or needed by the next record with BUFFER_TOO_SMALL.
    pub size: usize,
}

impl Consumer {
    /// This thread is inside a poll for records.
    pub fn is_polled_by_this_thread(&self) -> bool {
        self.core.gate.is_polled_by_this_thread()
    }

    /// Lets records signal the events' descriptor too.
    pub fn signal_records(&self) -> Result<()> {
        let descriptor = self.core.events.descriptor()?;
        self.core.bell.queue.signal_fd(descriptor.write_fd());
        // What came before has signalled nobody.
        self.core.events.refresh_signal();
        Ok(())
    }

    /// Hands out up to `max` records as views. Waits for the first; `None` when the time is up.
    /// `dispatch` runs the handlers of events that are there.
    pub fn poll(
        &self,
        max: usize,
        timeout: Option<Duration>,
        dispatch: impl FnMut() -> Result<()>,
    ) -> Result<Option<HeldBatch>> {
        let core = &*self.core;
        let max = check_max(max)?;
        core.poll(max, timeout, dispatch, |pull| {
            let batch = Batch::new(pull.withheld.split_front(max));
            let views = batch.views();
            let (number, generation) = core.hand_out(views.iter().map(handed_out));
            core.batches.fetch_add(1, Ordering::SeqCst);
            Ok(HeldBatch {
                batch,
                core: self.core.clone(),
                number,
                generation,
            })
        })
    }

    /// Hands out up to `max` records packed into `buffer`. `packed` tells what was written, or the size
    /// that is needed.
    pub fn poll_packed(
        &self,
        max: usize,
        timeout: Option<Duration>,
        buffer: &mut [u8],
        packed: &mut PackedBatch,
        dispatch: impl FnMut() -> Result<()>,
    ) -> Result<()> {
        let core = &*self.core;
        // No more is pulled than may fit.
        let max = check_max(max)?.min(buffer.len() / packed::HEADER + 1);
        core.poll(max, timeout, dispatch, |pull| {
            core.pack(pull, max, buffer, packed)
        })
        .map(drop)
    }
}

fn handed_out(view: &kabi_record_t) -> HandedOut {
    HandedOut {
        key: (view.topic, view.partition),
        offset: (view.code == 0).then_some(view.offset),
        leader_epoch: view.leader_epoch,
    }
}

fn check_max(max: usize) -> Result<usize> {
    if max == 0 {
        return Err(Error::argument(
            "max_records is 0: use serve to run handlers alone",
        ));
    }
    Ok(max.min(BATCH_MAX))
}

impl Core {
    /// There is something for the next poll for records.
    pub fn has_records(&self) -> bool {
        self.gate.has_withheld() || !self.bell.queue.is_empty()
    }

    fn hand_out(&self, records: impl Iterator<Item = HandedOut>) -> (u64, u64) {
        self.tracking
            .with(|state| (state.hand_out(records), state.generation))
    }

    /// One poll for records: says what was handed out before is handled, runs handlers, and waits until
    /// there is something for `take`.
    fn poll<T>(
        &self,
        max: usize,
        timeout: Option<Duration>,
        mut dispatch: impl FnMut() -> Result<()>,
        mut take: impl FnMut(&mut Pull) -> Result<T>,
    ) -> Result<Option<T>> {
        let _turn = self.gate.begin_poll()?;
        self.need_no_pending()?;
        let deadline = deadline_of(timeout);
        if !self.explicit {
            self.tracking
                .store(&self.client, &self.topics, |s| Ok(s.ledger.handled_all()))?;
        }
        loop {
            let rings = self.bell.rings();
            dispatch()?;
            self.look_up()?;
            let Some(mut access) = self.gate.enter(deadline, || self.look_up())? else {
                return Ok(None);
            };
            let (taken, is_over) = access.with(|pull| {
                let time_is_up = self.pull(pull, max, deadline, rings)?;
                if self.has_pending() {
                    return Ok((None, true));
                }
                if pull.withheld.is_empty() {
                    self.pass_markers(pull);
                    return Ok((None, time_is_up));
                }
                Ok((Some(take(pull)), true))
            })?;
            drop(access);
            if is_over {
                self.events.settle_records();
                return taken.transpose();
            }
        }
    }

    /// Whether a poll may go on.
    fn look_up(&self) -> Result<()> {
        if self.closing.load(Ordering::SeqCst) {
            return Err(Error::closed("consumer"));
        }
        if self.woken.swap(false, Ordering::SeqCst) {
            return Err(Error::interrupted("the poll for records"));
        }
        Ok(())
    }

    fn has_pending(&self) -> bool {
        self.apply_by_call && self.tracking.with(|state| state.pending.is_some())
    }

    fn need_no_pending(&self) -> Result<()> {
        if !self.has_pending() {
            return Ok(());
        }
        Err(Error::new(
            KABI_STATUS_STATE,
            "a change of the assignment waits: finish it by kabi_consumer_assignment_apply()",
        ))
    }

    /// Sees to it that something is withheld, if anything comes before the deadline or a wake. True when
    /// the time is up.
    fn pull(
        &self,
        pull: &mut Pull,
        max: usize,
        deadline: Option<Instant>,
        rings: u64,
    ) -> Result<bool> {
        if !pull.withheld.is_empty() {
            // Takes nothing; librdkafka is to see that the program polls, for max.poll.interval.ms.
            self.consume(pull, Duration::ZERO, 0);
            return Ok(false);
        }
        if let Some((code, text)) = self.client.fatal_error() {
            return Err(
                Error::new(code, format!("the consumer can't go on: {text}"))
                    .with_flags(crate::record::KABI_ERROR_FATAL),
            );
        }
        let wait = remaining_up_to(deadline, WAIT_MAX);
        // What is there comes in one call; only an empty queue is waited for, and then for one record.
        self.pull_more(pull, Duration::ZERO, max)?;
        // A ring before this was eaten by that look; one after it ends the wait.
        let called = self.bell.rings() != rings;
        if pull.withheld.is_empty() && !wait.is_zero() && !called && !self.has_pending() {
            self.pull_more(pull, wait, 1)?;
            if !pull.withheld.is_empty() && max > 1 && !self.has_pending() {
                self.pull_more(pull, Duration::ZERO, max - 1)?;
            }
        }
        Ok(deadline.is_some_and(|d| Instant::now() >= d))
    }

    /// Pulls records after those that are withheld. A change of the assignment on the way may take away
    /// partitions of both.
    pub(super) fn pull_more(&self, pull: &mut Pull, wait: Duration, max: usize) -> Result<()> {
        let earlier = pull.withheld.take();
        self.consume(pull, wait, max);
        pull.withheld.retain(|m| match m.code() {
            0 | KABI_STATUS_PARTITION_EOF => true,
            KABI_STATUS_GROUP_AUTHORIZATION_FAILED => {
                self.denial.heard_of_group();
                true
            }
            // Told by the next poll, with the code behind it.
            KABI_STATUS_FATAL => false,
            _ => !self.gets_over(m),
        });
        self.after_pull(pull, earlier)
    }

    fn consume(&self, pull: &mut Pull, wait: Duration, max: usize) {
        let Pull {
            withheld, numbers, ..
        } = pull;
        let find = |name: &str| self.topics.number(&self.client, name).unwrap_or(-1);
        let queue = &self.bell.queue;
        queue.consume(wait, max, withheld, |id, name| {
            numbers.get(id, || find(name))
        });
    }

    fn pack(
        &self,
        pull: &mut Pull,
        max: usize,
        buffer: &mut [u8],
        packed: &mut PackedBatch,
    ) -> Result<()> {
        let mut written = 0;
        let mut needed = 0;
        let mut handed = Vec::new();
        for message in pull.withheld.iter().take(max) {
            let room = buffer.get_mut(written..).unwrap_or_default();
            match packed::encode(message, room) {
                Ok(size) => written += size,
                Err(size) => {
                    needed = size;
                    break;
                }
            }
            handed.push(handed_out(message.view()));
        }
        let count = handed.len();
        if count == 0 {
            *packed = PackedBatch {
                size: needed,
                ..PackedBatch::default()
            };
            return Err(Error::new(
                KABI_STATUS_BUFFER_TOO_SMALL,
                format!(
                    "the next record needs {needed} bytes, {} were given; it stays first",
                    buffer.len()
                ),
            ));
        }
        let (number, generation) = self.hand_out(handed.into_iter());
        pull.withheld.drop_front(count);
        *packed = PackedBatch {
            number,
            generation,
            count,
            size: written,
        };
        Ok(())
    }
}
