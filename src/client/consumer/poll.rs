//! Pulling records, on the program's thread. Rebalances happen inside, before any record of the new
//! assignment comes out.

use super::ledger::HandedOut;
use super::{Consumer, Core};
use crate::client::events::this_thread;
use crate::client::lifetime::{deadline_of, lock, remaining_up_to, Held};
use crate::client::packed;
use crate::client::topics::Numbers;
use crate::error::{Error, Result};
use crate::rd::message::{Batch, Header, MessageRef, Messages};
use crate::rd::queue::Queue;
use crate::record::kabi_record_t;
use crate::status::{
    KABI_STATUS_BUFFER_TOO_SMALL, KABI_STATUS_BUSY, KABI_STATUS_FATAL, KABI_STATUS_REENTERED,
};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// More records at once gain nothing.
const BATCH_MAX: usize = 64 * 1024;
/// A wait for records looks up at least this often; wakes come sooner.
const WAIT_MAX: Duration = Duration::from_secs(3600);

/// What only a poll, or a call that moves partitions, may touch.
pub struct Pull {
    /// Pulled from librdkafka, but not handed out: they had no room.
    pub withheld: Messages,
    pub numbers: Numbers,
}

impl Pull {
    pub fn new(withheld: Messages) -> Pull {
        Pull {
            withheld,
            numbers: Numbers::default(),
        }
    }
}

/// The queue of records, and the way to call a poll away from it. A ring ends a wait on the queue; the
/// count tells a poll of one that came while it was looking without waiting, which eats the ring.
pub struct Bell {
    pub queue: Queue,
    rings: AtomicU64,
}

impl Bell {
    pub fn new(queue: Queue) -> Bell {
        Bell {
            queue,
            rings: AtomicU64::new(0),
        }
    }

    pub fn ring(&self) {
        self.rings.fetch_add(1, Ordering::SeqCst);
        self.queue.wake();
    }

    fn rings(&self) -> u64 {
        self.rings.load(Ordering::SeqCst)
    }
}

/// Lets one poll in, and calls that move partitions between its waits.
pub struct Gate {
    pull: Mutex<Pull>,
    /// The thread that polls, by `this_thread`; 0 for none.
    poller: AtomicU64,
    visitors: AtomicUsize,
    visits: Mutex<()>,
    visited: Condvar,
    /// `withheld` has records, for who can't lock it.
    has_withheld: AtomicUsize,
}

impl Gate {
    pub fn new(pull: Pull) -> Gate {
        Gate {
            pull: Mutex::new(pull),
            poller: AtomicU64::new(0),
            visitors: AtomicUsize::new(0),
            visits: Mutex::new(()),
            visited: Condvar::new(),
            has_withheld: AtomicUsize::new(0),
        }
    }

    fn enter(&self) -> Result<Turn<'_>> {
        let me = this_thread();
        match self
            .poller
            .compare_exchange(0, me, Ordering::SeqCst, Ordering::SeqCst)
        {
            Ok(_) => Ok(Turn { gate: self }),
            Err(other) if other == me => Err(Error::new(
                KABI_STATUS_REENTERED,
                "this thread polls for records already: not possible inside a handler",
            )),
            Err(_) => Err(Error::new(
                KABI_STATUS_BUSY,
                "another thread polls this consumer for records",
            )),
        }
    }

    /// Waits until nobody wants in between two waits of a poll.
    fn make_way(&self) {
        if self.visitors.load(Ordering::SeqCst) > 0 {
            let mut visits = lock(&self.visits);
            while self.visitors.load(Ordering::SeqCst) > 0 {
                visits = self.visited.wait(visits).unwrap_or_else(|p| p.into_inner());
            }
        }
    }
}

struct Turn<'a> {
    gate: &'a Gate,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.gate.poller.store(0, Ordering::SeqCst);
    }
}

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

    pub fn headers<'a>(&'a self, index: usize, visit: impl FnMut(Header<'a>)) -> Result<()> {
        self.batch.headers(index, visit).ok_or_else(|| {
            Error::argument(format!(
                "the batch has no record {index}: it has {}",
                self.batch.views().len()
            ))
        })
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
        self.core.gate.poller.load(Ordering::SeqCst) == this_thread()
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
            let messages = pull.withheld.split_front(max);
            let numbers = &mut pull.numbers;
            let batch = Batch::new(messages, |m| core.number(numbers, m));
            let views = batch.views();
            let (number, generation) = core.hand_out(views.iter().map(|v| HandedOut {
                key: (v.topic, v.partition),
                offset: (v.code == 0).then_some(v.offset),
                leader_epoch: v.leader_epoch,
            }));
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
        let max = check_max(max)?;
        core.poll(max, timeout, dispatch, |pull| {
            core.pack(pull, max, buffer, packed)
        })
        .map(drop)
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
        self.gate.has_withheld.load(Ordering::SeqCst) > 0 || !self.bell.queue.is_empty()
    }

    /// Runs `body` with no poll inside, so that it can move partitions. A poll that waits makes way.
    pub fn visit<T>(&self, body: impl FnOnce(&mut Pull) -> Result<T>) -> Result<T> {
        self.gate.visitors.fetch_add(1, Ordering::SeqCst);
        self.bell.ring();
        let outcome = {
            let mut pull = lock(&self.gate.pull);
            let outcome = body(&mut pull);
            self.gate
                .has_withheld
                .store(pull.withheld.len(), Ordering::SeqCst);
            outcome
        };
        let _visits = lock(&self.gate.visits);
        self.gate.visitors.fetch_sub(1, Ordering::SeqCst);
        self.gate.visited.notify_all();
        outcome
    }

    pub(super) fn number(&self, numbers: &mut Numbers, message: MessageRef<'_>) -> i32 {
        match message.topic_id() {
            0 => -1,
            id => numbers.get(id, || {
                self.topics
                    .number(&self.client, message.topic_name())
                    .unwrap_or(-1)
            }),
        }
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
        let _turn = self.gate.enter()?;
        let deadline = deadline_of(timeout);
        if !self.explicit {
            self.tracking
                .store(&self.client, &self.topics, |s| Ok(s.ledger.handled_all()))?;
        }
        loop {
            let rings = self.bell.rings();
            dispatch()?;
            if self.closing.load(Ordering::SeqCst) {
                return Err(Error::closed("consumer"));
            }
            if self.woken.swap(false, Ordering::SeqCst) {
                return Err(Error::interrupted("the poll for records"));
            }
            self.gate.make_way();
            let mut pull = lock(&self.gate.pull);
            let time_is_up = self.pull(&mut pull, max, deadline, rings)?;
            let taken = if pull.withheld.is_empty() {
                None
            } else {
                Some(take(&mut pull))
            };
            self.gate
                .has_withheld
                .store(pull.withheld.len(), Ordering::SeqCst);
            drop(pull);
            if taken.is_some() || time_is_up {
                self.events.settle_records();
                return taken.transpose();
            }
        }
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
            return Ok(false);
        }
        if let Some((code, text)) = self.client.fatal_error() {
            return Err(
                Error::new(code, format!("the consumer can't go on: {text}"))
                    .with_flags(crate::record::KABI_ERROR_FATAL),
            );
        }
        self.tracking.with(|state| drop(state.take_revoked()));
        let wait = remaining_up_to(deadline, WAIT_MAX);
        // What is there comes in one call; only an empty queue is waited for, and then for one record.
        let queue = &self.bell.queue;
        if queue.consume(Duration::ZERO, max, &mut pull.withheld) == 0
            && !wait.is_zero()
            // A ring before this was eaten by that call; one after it ends the wait.
            && self.bell.rings() == rings
            && queue.consume(wait, 1, &mut pull.withheld) > 0
        {
            self.consume_more(pull, max);
        }
        if pull.withheld.iter().any(|m| m.code() == KABI_STATUS_FATAL) {
            // Told by the next poll, with the code behind it.
            pull.withheld.retain(|m| m.code() != KABI_STATUS_FATAL);
        }
        Ok(deadline.is_some_and(|d| Instant::now() >= d))
    }

    /// More records, after the first of a batch. A rebalance on the way may take the first one's
    /// partition away.
    fn consume_more(&self, pull: &mut Pull, max: usize) {
        if max > 1 {
            self.tracking.with(|state| drop(state.take_revoked()));
            let first = pull.withheld.split_front(1);
            self.bell
                .queue
                .consume(Duration::ZERO, max - 1, &mut pull.withheld);
            let revoked = self.tracking.with(|state| state.take_revoked());
            let mut kept = first;
            if !revoked.is_empty() {
                let numbers = &mut pull.numbers;
                kept.retain(|m| !revoked.contains(&(self.number(numbers, m), m.partition())));
            }
            pull.withheld.prepend(kept);
        }
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
            let topic = self.number(&mut pull.numbers, message);
            let room = buffer.get_mut(written..).unwrap_or_default();
            match packed::encode(message, topic, room) {
                Ok(size) => written += size,
                Err(size) => {
                    needed = size;
                    break;
                }
            }
            handed.push(HandedOut {
                key: (topic, message.partition()),
                offset: (message.code() == 0).then_some(message.offset()),
                leader_epoch: message.leader_epoch(),
            });
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
        drop(pull.withheld.split_front(count));
        *packed = PackedBatch {
            number,
            generation,
            count,
            size: written,
        };
        Ok(())
    }
}
