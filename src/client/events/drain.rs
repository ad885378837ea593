//! Taking events out, on the program's thread: by handing runs of them to a function (`poll`), or by
//! copying them to the caller's memory (`drain`). One thread at a time; another gets BUSY, and one that
//! is already inside, from a handler, REENTERED.

use super::boxes::Told;
use super::{this_thread, Events, Item};
use crate::client::lifetime::{lock, remaining};
use crate::error::{Error, Result};
use crate::record::kabi_event_t;
use crate::status::{
    KABI_STATUS_BUFFER_TOO_SMALL, KABI_STATUS_BUSY, KABI_STATUS_CALLBACK_FAILED,
    KABI_STATUS_REENTERED,
};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, TryLockError};
use std::time::Instant;

/// A poll ends after about this many events even if more come in all the time.
const POLL_EVENTS_MAX: usize = 64 * 1024;

/// What was taken from the channel and not all handed out yet.
#[derive(Default)]
pub(super) struct Draining {
    reports: Vec<kabi_event_t>,
    /// How many of `reports` are handed out.
    reported: usize,
    told: VecDeque<Told>,
}

impl Draining {
    fn is_empty(&self) -> bool {
        self.reported >= self.reports.len() && self.told.is_empty()
    }
}

/// What a drain wrote.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Taken {
    pub events: usize,
    /// Bytes written, or needed by the first event that waits if it had no room.
    pub bytes: usize,
}

/// What a wait for events found.
enum Next {
    Some,
    TimedOut,
    Woken,
}

/// The right to drain, held by one thread.
struct Turn<'a> {
    events: &'a Events,
    draining: MutexGuard<'a, Draining>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.events.drainer.store(0, Ordering::Relaxed);
        self.events.settle(&self.draining);
    }
}

impl Events {
    fn turn(&self) -> Result<Turn<'_>> {
        let draining = match self.draining.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) if self.in_handler() => {
                return Err(Error::new(
                    KABI_STATUS_REENTERED,
                    "this thread polls for events already: not possible inside a handler",
                ));
            }
            Err(TryLockError::WouldBlock) => {
                return Err(Error::new(
                    KABI_STATUS_BUSY,
                    "another thread polls this client for events",
                ));
            }
        };
        self.drainer.store(this_thread(), Ordering::Relaxed);
        Ok(Turn {
            events: self,
            draining,
        })
    }

    /// Hands events to `handle`, in runs of one kind, with the bytes that their texts are in. Waits for
    /// the first; `count` tells how many were handed over. `handle` returns not 0 to end the poll.
    pub fn poll(
        &self,
        deadline: Option<Instant>,
        count: &mut usize,
        mut handle: impl FnMut(&[kabi_event_t], &[u8]) -> i32,
    ) -> Result<()> {
        let mut turn = self.turn()?;
        match self.wait(&mut turn.draining, deadline)? {
            Next::Some => {}
            Next::TimedOut => return Ok(()),
            Next::Woken => return Err(Error::interrupted("the poll for events")),
        }
        while *count < POLL_EVENTS_MAX {
            if turn.draining.is_empty() && !self.receive(&mut turn.draining) {
                break;
            }
            let (handed, answer) = self.hand_over(&mut turn.draining, &mut handle);
            *count += handed;
            if answer != 0 {
                return Err(Error::new(
                    KABI_STATUS_CALLBACK_FAILED,
                    format!("an event handler returned {answer}; later events are still queued"),
                ));
            }
        }
        Ok(())
    }

    /// Hands over one chunk of reports or one event with a text. It counts as handed over whatever the
    /// handler answers.
    fn hand_over(
        &self,
        draining: &mut Draining,
        handle: &mut impl FnMut(&[kabi_event_t], &[u8]) -> i32,
    ) -> (usize, i32) {
        if let Some(reports) = draining
            .reports
            .get(draining.reported..)
            .filter(|r| !r.is_empty())
        {
            let count = reports.len();
            let answer = handle(reports, &[]);
            draining.reports.clear();
            draining.reported = 0;
            self.counts.drained.add(count as u64);
            self.slots.give(count);
            return (count, answer);
        }
        let Some(told) = draining.told.pop_front() else {
            return (0, 0);
        };
        // Words in size; malloc aligns them for the partitions.
        let mut words = vec![[0u8; 8]; told.size().div_ceil(8)];
        let bytes = words.as_flattened_mut();
        let Some(event) = told.place(0, bytes) else {
            return (0, 0);
        };
        let answer = handle(&[event], bytes);
        self.counts.drained.add(1);
        self.slots.give(usize::from(told.slot));
        (1, answer)
    }

    /// Copies events to `into` and their texts to `bytes`. Waits for the first event. `taken` tells
    /// what was written, or the size that is needed with BUFFER_TOO_SMALL.
    pub fn drain(
        &self,
        deadline: Option<Instant>,
        into: &mut [kabi_event_t],
        bytes: &mut [u8],
        taken: &mut Taken,
    ) -> Result<()> {
        let mut turn = self.turn()?;
        match self.wait(&mut turn.draining, deadline)? {
            Next::Some => {}
            Next::TimedOut => return Ok(()),
            Next::Woken => return Err(Error::interrupted("the drain of events")),
        }
        while taken.events < into.len() {
            if turn.draining.is_empty() && !self.receive(&mut turn.draining) {
                break;
            }
            if !self.copy_reports(&mut turn.draining, into, taken)
                && !self.copy_told(&mut turn.draining, into, bytes, taken)
            {
                break;
            }
        }
        match turn.draining.told.front() {
            Some(next) if taken.events == 0 && !into.is_empty() => {
                taken.bytes = next.size();
                Err(too_small(taken.bytes, bytes.len()))
            }
            _ => Ok(()),
        }
    }

    fn copy_reports(
        &self,
        draining: &mut Draining,
        into: &mut [kabi_event_t],
        taken: &mut Taken,
    ) -> bool {
        let waiting = draining
            .reports
            .get(draining.reported..)
            .unwrap_or_default();
        let room = into.get_mut(taken.events..).unwrap_or_default();
        let count = waiting.len().min(room.len());
        if count == 0 {
            return false;
        }
        for (to, from) in room.iter_mut().zip(waiting) {
            *to = *from;
        }
        draining.reported += count;
        taken.events += count;
        self.counts.drained.add(count as u64);
        self.slots.give(count);
        true
    }

    /// Copies one event with a text, if it has room.
    fn copy_told(
        &self,
        draining: &mut Draining,
        into: &mut [kabi_event_t],
        bytes: &mut [u8],
        taken: &mut Taken,
    ) -> bool {
        let at = taken.bytes.next_multiple_of(8);
        let room = bytes.get_mut(at..).unwrap_or_default();
        let Some(told) = draining.told.front() else {
            return false;
        };
        let (Some(event), Some(place)) = (told.place(at, room), into.get_mut(taken.events)) else {
            return false;
        };
        *place = event;
        taken.events += 1;
        self.counts.drained.add(1);
        taken.bytes = at + told.size();
        self.slots.give(usize::from(told.slot));
        draining.told.pop_front();
        true
    }

    /// Waits until there is something to hand out.
    fn wait(&self, draining: &mut Draining, deadline: Option<Instant>) -> Result<Next> {
        loop {
            // Before the look into the channel: what came before the end is seen by it.
            let finished = self.finished.load(Ordering::SeqCst);
            if !draining.is_empty() || self.receive(draining) {
                return Ok(Next::Some);
            }
            if self.take_wake() {
                return Ok(Next::Woken);
            }
            if finished || self.abandoned.load(Ordering::SeqCst) {
                return Err(Events::closed());
            }
            let item = match remaining(deadline) {
                None => self.receiver.recv().ok(),
                Some(left) if left.is_zero() => return Ok(Next::TimedOut),
                Some(left) => self.receiver.recv_timeout(left).ok(),
            };
            if let Some(item) = item {
                self.open(item, draining);
            }
        }
    }

    /// Takes from the channel until there is something to hand out. False if there is nothing.
    fn receive(&self, draining: &mut Draining) -> bool {
        while draining.is_empty() {
            let item = match self.receiver.try_recv() {
                Ok(item) => item,
                Err(_) => {
                    // What is beside the channel comes after all that is in it, and what is in it can
                    // only change under this lock.
                    let mut inbox = lock(&self.inbox);
                    match self
                        .receiver
                        .try_recv()
                        .ok()
                        .or_else(|| inbox.beside.pop_front())
                    {
                        Some(item) => item,
                        None => return false,
                    }
                }
            };
            self.open(item, draining);
        }
        true
    }

    fn open(&self, item: Item, draining: &mut Draining) {
        match item {
            Item::Reports(reports) => {
                draining.reports = reports;
                draining.reported = 0;
            }
            Item::Errors => draining.told = lock(&self.inbox).boxes.take_errors(),
            Item::Lines => draining.told = lock(&self.inbox).boxes.take_lines(),
            Item::Statistics => draining.told = lock(&self.inbox).boxes.take_statistics(),
            Item::Changes => draining.told = lock(&self.inbox).boxes.take_changes(),
            Item::Throttles => draining.told = lock(&self.inbox).boxes.take_throttles(),
            Item::Token => draining.told = lock(&self.inbox).boxes.take_token(),
            Item::Single(told) => draining.told.push_back(*told),
            Item::Nudge => {}
        }
    }

    /// Leaves the descriptor readable exactly if something is left.
    fn settle(&self, draining: &Draining) {
        let Some(descriptor) = self.descriptor.get() else {
            return;
        };
        if !draining.is_empty() || self.finished.load(Ordering::SeqCst) {
            self.signal();
            return;
        }
        // Besides us librdkafka signals, for records, and tells nobody.
        let signalled = self.more.get().is_some() || self.signalled.load(Ordering::SeqCst);
        if signalled && !self.has_some() {
            descriptor.clear();
            self.signalled.store(false, Ordering::SeqCst);
            // What came in between saw a signalled descriptor and left it alone.
            self.refresh_signal();
        }
    }

    /// The same, after a poll for records. One who drains events just now does it at the end.
    pub fn settle_records(&self) {
        if self.descriptor.get().is_some() {
            if let Ok(draining) = self.draining.try_lock() {
                self.settle(&draining);
            }
        }
    }
}

/// The error of a drain that had no room for its first event's text.
fn too_small(needed: usize, given: usize) -> Error {
    Error::new(
        KABI_STATUS_BUFFER_TOO_SMALL,
        format!("the next event needs {needed} bytes, {given} were given; it stays first"),
    )
}
