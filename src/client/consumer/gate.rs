//! Who may touch what was pulled from librdkafka: one poll at a time, and calls that move partitions,
//! which go in between the waits of a poll.

use crate::client::events::this_thread;
use crate::client::lifetime::{lock, remaining_up_to, wait_until};
use crate::client::topics::Numbers;
use crate::error::{Error, Result};
use crate::rd::received::Messages;
use crate::status::{KABI_STATUS_BUSY, KABI_STATUS_REENTERED};
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

/// Who waits for the gate looks this often whether to go on; when the gate opens it is told.
const LOOK: Duration = Duration::from_millis(50);

/// What only a poll, or a call that moves partitions, may touch.
pub struct Pull {
    /// Pulled from librdkafka, but not handed out: they had no room.
    pub withheld: Messages,
    /// The same, of partitions that are paused.
    pub aside: Messages,
    pub numbers: Numbers,
    /// When positions were last compared with librdkafka's.
    pub looked: Option<Instant>,
}

impl Pull {
    pub fn new(withheld: Messages, aside: Messages) -> Pull {
        Pull {
            withheld,
            aside,
            numbers: Numbers::default(),
            looked: None,
        }
    }
}

pub struct Gate {
    pull: Mutex<Pull>,
    /// The thread that polls, by `this_thread`; 0 for none.
    poller: AtomicU64,
    /// The thread inside a handler of an assignment change; 0 for none.
    changing: AtomicU64,
    /// Calls that want in between two waits of a poll.
    visitors: AtomicUsize,
    /// Threads that wait for `opened`.
    waiting: AtomicUsize,
    news: Mutex<()>,
    opened: Condvar,
    /// How many records are withheld, for who can't lock the pull.
    withheld: AtomicUsize,
}

impl Gate {
    pub fn new(pull: Pull) -> Gate {
        Gate {
            pull: Mutex::new(pull),
            poller: AtomicU64::new(0),
            changing: AtomicU64::new(0),
            visitors: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            news: Mutex::new(()),
            opened: Condvar::new(),
            withheld: AtomicUsize::new(0),
        }
    }

    /// Makes the calling thread the one that polls.
    pub fn begin_poll(&self) -> Result<Turn<'_>> {
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

    pub fn is_polled_by_this_thread(&self) -> bool {
        self.poller.load(Ordering::SeqCst) == this_thread()
    }

    /// The calling thread is inside a handler of an assignment change of this consumer.
    pub fn is_in_change(&self) -> bool {
        self.changing.load(Ordering::SeqCst) == this_thread()
    }

    /// Runs a handler of an assignment change.
    pub fn change<T>(&self, handler: impl FnOnce() -> T) -> T {
        self.changing.store(this_thread(), Ordering::SeqCst);
        let result = handler();
        self.changing.store(0, Ordering::SeqCst);
        result
    }

    pub fn has_withheld(&self) -> bool {
        self.withheld.load(Ordering::SeqCst) > 0
    }

    /// Lets a poll in, after the visitors. `None` when the time is up.
    pub fn enter(
        &self,
        deadline: Option<Instant>,
        go_on: impl FnMut() -> Result<()>,
    ) -> Result<Option<Access<'_>>> {
        self.wait(deadline, go_on, || {
            if self.visitors.load(Ordering::SeqCst) > 0 {
                return None;
            }
            self.try_access()
        })
    }

    /// Lets a call in that moves partitions; `wake` ends the wait of a poll. `None` when the time is up.
    pub fn visit(
        &self,
        deadline: Option<Instant>,
        go_on: impl FnMut() -> Result<()>,
        wake: impl FnOnce(),
    ) -> Result<Option<Visit<'_>>> {
        if self.is_in_change() {
            return Err(Error::new(
                KABI_STATUS_REENTERED,
                "not possible inside a handler of an assignment change, which is applied when it returns",
            ));
        }
        let visitor = Visitor::of(self);
        wake();
        let access = self.wait(deadline, go_on, || self.try_access())?;
        Ok(access.map(|access| Visit {
            access,
            _visitor: visitor,
        }))
    }

    fn try_access(&self) -> Option<Access<'_>> {
        let pull = match self.pull.try_lock() {
            Ok(pull) => pull,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        Some(Access {
            pull: Some(pull),
            gate: self,
        })
    }

    fn wait<T>(
        &self,
        deadline: Option<Instant>,
        mut go_on: impl FnMut() -> Result<()>,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> Result<Option<T>> {
        if let Some(access) = attempt() {
            return Ok(Some(access));
        }
        let _waiter = Count::of(&self.waiting);
        loop {
            let news = lock(&self.news);
            // Who opens the gate from here on sees the waiter, and waits for the lock to tell it.
            if let Some(access) = attempt() {
                return Ok(Some(access));
            }
            let slice = remaining_up_to(deadline, LOOK);
            if slice.is_zero() {
                return Ok(None);
            }
            drop(wait_until(
                &self.opened,
                news,
                Instant::now().checked_add(slice),
            ));
            go_on()?;
        }
    }

    fn tell(&self) {
        if self.waiting.load(Ordering::SeqCst) > 0 {
            drop(lock(&self.news));
            self.opened.notify_all();
        }
    }
}

struct Count<'a>(&'a AtomicUsize);

impl<'a> Count<'a> {
    fn of(count: &'a AtomicUsize) -> Count<'a> {
        count.fetch_add(1, Ordering::SeqCst);
        Count(count)
    }
}

impl Drop for Count<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

struct Visitor<'a>(&'a Gate);

impl<'a> Visitor<'a> {
    fn of(gate: &'a Gate) -> Visitor<'a> {
        gate.visitors.fetch_add(1, Ordering::SeqCst);
        Visitor(gate)
    }
}

impl Drop for Visitor<'_> {
    fn drop(&mut self) {
        self.0.visitors.fetch_sub(1, Ordering::SeqCst);
        self.0.tell();
    }
}

/// The right to poll, held by one thread.
pub struct Turn<'a> {
    gate: &'a Gate,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.gate.poller.store(0, Ordering::SeqCst);
    }
}

/// What was pulled, held by one thread.
pub struct Access<'a> {
    /// `None` only while it is dropped.
    pull: Option<MutexGuard<'a, Pull>>,
    gate: &'a Gate,
}

impl Access<'_> {
    /// Runs `body` on what was pulled.
    pub fn with<T>(&mut self, body: impl FnOnce(&mut Pull) -> Result<T>) -> Result<T> {
        match &mut self.pull {
            Some(pull) => body(pull),
            None => Err(Error::closed("consumer")),
        }
    }
}

impl Drop for Access<'_> {
    fn drop(&mut self) {
        if let Some(pull) = self.pull.take() {
            self.gate
                .withheld
                .store(pull.withheld.len(), Ordering::SeqCst);
        }
        self.gate.tell();
    }
}

/// A visitor's access: first it goes, then the visitor is no longer counted, which is the order of the
/// fields.
pub struct Visit<'a> {
    access: Access<'a>,
    _visitor: Visitor<'a>,
}

impl<'a> Deref for Visit<'a> {
    type Target = Access<'a>;

    fn deref(&self) -> &Access<'a> {
        &self.access
    }
}

impl DerefMut for Visit<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.access
    }
}
