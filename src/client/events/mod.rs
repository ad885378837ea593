//! What a client has to tell its program: reports, errors, log lines, statistics. The service thread puts
//! them in, and never waits; the program takes them out on threads of its own (`drain`).
//!
//! Reports go through a bounded channel in chunks. When the channel is full they gather in one growing
//! chunk beside it: how many reports there can be is bounded by the slots, not by the channel. The other
//! kinds wait in boxes that bound themselves, and the channel only carries the news that a box has
//! something.

mod boxes;
mod counts;
mod drain;
mod slots;

pub use boxes::{Told, ToldPartition};
pub use counts::{Count, Counts};
pub use drain::Taken;
pub use slots::Slots;

use crate::client::lifetime::lock;
use crate::error::{Error, Result};
use crate::rd::descriptor::Descriptor;
use crate::record::{
    kabi_event_t, KABI_EVENT_ASSIGNMENT, KABI_EVENT_ERROR, KABI_EVENT_LOG, KABI_EVENT_STATISTICS,
    KABI_EVENT_THROTTLE, KABI_EVENT_TOKEN,
};
use boxes::Boxes;
use crossbeam_channel::{Receiver, Sender, TrySendError};
use drain::Draining;
use once_cell::sync::OnceCell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Chunks in the channel. Past this, reports gather in one chunk beside it.
const CHANNEL_CHUNKS: usize = 1024;

/// What the channel carries.
enum Item {
    Reports(Vec<kabi_event_t>),
    Errors,
    Lines,
    Statistics,
    Changes,
    Throttles,
    Token,
    /// An event that holds a slot, so that there are not too many.
    Single(Box<Told>),
    /// Ends a wait: a wake, or the last event has been put in.
    Nudge,
}

/// What the push side shares under one lock.
#[derive(Default)]
struct Inbox {
    boxes: Boxes,
    /// What did not fit in the channel, in order. Its last item gathers further reports.
    beside: VecDeque<Item>,
}

/// Whether there is something beyond the events that the descriptor is to tell of, such as records.
type More = Box<dyn Fn() -> bool + Send + Sync>;

/// Does something beyond the channel whenever an event comes in, such as waking a consumer's poll.
type Hook = Box<dyn Fn() + Send + Sync>;

pub struct Events {
    mask: u32,
    slots: Slots,
    sender: Sender<Item>,
    receiver: Receiver<Item>,
    inbox: Mutex<Inbox>,
    draining: Mutex<Draining>,
    /// The thread inside a poll or drain, by `this_thread`; 0 for none.
    drainer: AtomicU64,
    /// A wake that no poll has seen yet.
    woken: AtomicBool,
    /// No more events will come.
    finished: AtomicBool,
    /// Nobody is to have what still comes: the client was freed.
    abandoned: AtomicBool,
    descriptor: OnceCell<Descriptor>,
    /// The descriptor is readable, or about to be.
    signalled: AtomicBool,
    /// The latest statistics that librdkafka gave.
    statistics: Mutex<Option<Arc<str>>>,
    pub counts: Counts,
    /// Failed reports since they were last asked for.
    failed: AtomicU64,
    hook: OnceCell<Hook>,
    more: OnceCell<More>,
}

/// A number for the calling thread, not 0, not reused while it lives.
pub(crate) fn this_thread() -> u64 {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| std::ptr::from_ref(here) as u64)
}

impl Events {
    pub fn new(mask: u32, slots: usize) -> Events {
        let (sender, receiver) = crossbeam_channel::bounded(CHANNEL_CHUNKS);
        Events {
            mask,
            slots: Slots::new(slots),
            sender,
            receiver,
            inbox: Mutex::default(),
            draining: Mutex::default(),
            drainer: AtomicU64::new(0),
            woken: AtomicBool::new(false),
            finished: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            descriptor: OnceCell::new(),
            signalled: AtomicBool::new(false),
            statistics: Mutex::default(),
            counts: Counts::default(),
            failed: AtomicU64::new(0),
            hook: OnceCell::new(),
            more: OnceCell::new(),
        }
    }

    /// Sets what to do when an event comes in, once.
    pub fn set_hook(&self, hook: impl Fn() + Send + Sync + 'static) {
        let _ = self.hook.set(Box::new(hook));
    }

    /// Sets what else the descriptor tells of, once.
    pub fn set_more(&self, more: impl Fn() -> bool + Send + Sync + 'static) {
        let _ = self.more.set(Box::new(more));
    }

    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    pub fn wants(&self, kind: u32) -> bool {
        self.mask & kind != 0
    }

    /// The calling thread is inside a handler of this client, where waiting for space would wait for
    /// itself.
    pub fn in_handler(&self) -> bool {
        self.drainer.load(Ordering::Relaxed) == this_thread()
    }

    /// Reports of records that hold a slot each.
    pub fn push_reports(&self, reports: Vec<kabi_event_t>) {
        if !reports.is_empty() {
            let mut inbox = lock(&self.inbox);
            self.offer(&mut inbox, Item::Reports(reports));
            drop(inbox);
            self.announce();
        }
    }

    pub fn count_failed(&self, count: u64) {
        self.counts.failed.add(count);
        self.failed.fetch_add(count, Ordering::Relaxed);
    }

    /// Failed reports since the last call of this.
    pub fn take_failed(&self) -> u64 {
        self.failed.swap(0, Ordering::Relaxed)
    }

    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    pub fn push_error(&self, code: i32, flags: u32, text: String) {
        self.counts.errors.add(1);
        self.push_boxed(KABI_EVENT_ERROR, Item::Errors, |b| {
            b.add_error(code, flags, text)
        });
    }

    pub fn push_line(&self, level: i32, contexts: u32, text: String) {
        self.push_boxed(KABI_EVENT_LOG, Item::Lines, |b| {
            b.add_line(level, contexts, text)
        });
    }

    pub fn push_statistics(&self, text: String) {
        *lock(&self.statistics) = Some(text.as_str().into());
        self.push_boxed(KABI_EVENT_STATISTICS, Item::Statistics, |b| {
            b.set_statistics(text)
        });
    }

    /// A change of the assignment that is done.
    pub fn push_change(&self, told: Told) {
        self.push_boxed(KABI_EVENT_ASSIGNMENT, Item::Changes, |b| b.add_change(told));
    }

    pub fn push_throttle(&self, told: Told) {
        self.push_boxed(KABI_EVENT_THROTTLE, Item::Throttles, |b| {
            b.add_throttle(told)
        });
    }

    /// The client needs a token.
    pub fn push_token(&self, told: Told) {
        self.push_boxed(KABI_EVENT_TOKEN, Item::Token, |b| b.set_token(told));
    }

    /// The outcome of something that took a slot when it began (`slots().take(1)`), which is given back
    /// when the event is drained.
    pub fn push_single(&self, mut told: Told) {
        told.slot = true;
        let mut inbox = lock(&self.inbox);
        self.offer(&mut inbox, Item::Single(Box::new(told)));
        drop(inbox);
        self.announce();
    }

    fn push_boxed(&self, kind: u32, news: Item, put: impl FnOnce(&mut Boxes) -> bool) {
        if !self.wants(kind) {
            return;
        }
        let mut inbox = lock(&self.inbox);
        if put(&mut inbox.boxes) {
            self.offer(&mut inbox, news);
        }
        drop(inbox);
        self.announce();
    }

    /// Into the channel, or in order beside it.
    fn offer(&self, inbox: &mut Inbox, item: Item) {
        let item = if inbox.beside.is_empty() {
            match self.sender.try_send(item) {
                Ok(()) => return,
                Err(TrySendError::Full(item) | TrySendError::Disconnected(item)) => item,
            }
        } else {
            item
        };
        match (inbox.beside.back_mut(), item) {
            (Some(Item::Reports(gathered)), Item::Reports(more)) => gathered.extend(more),
            (_, item) => inbox.beside.push_back(item),
        }
    }

    fn announce(&self) {
        self.signal();
        if let Some(hook) = self.hook.get() {
            hook();
        }
    }

    fn signal(&self) {
        if let Some(descriptor) = self.descriptor.get() {
            if !self.signalled.swap(true, Ordering::SeqCst) {
                descriptor.signal();
            }
        }
    }

    /// Ends a poll in progress, or else the next one, and waits for space in progress.
    pub fn wake(&self) {
        self.woken.store(true, Ordering::SeqCst);
        self.nudge();
    }

    /// Ends waits in progress, so that they look again.
    pub fn nudge(&self) {
        // A full channel holds something to wake up for already.
        let _ = self.sender.try_send(Item::Nudge);
        self.slots.notify();
        self.announce();
    }

    /// Ends a poll in progress with CLOSED: what it holds on to can only end when it is out.
    pub fn abandon(&self) {
        self.abandoned.store(true, Ordering::SeqCst);
        self.nudge();
    }

    pub fn take_wake(&self) -> bool {
        self.woken.load(Ordering::Relaxed) && self.woken.swap(false, Ordering::SeqCst)
    }

    /// The last event is in. Who drains gets what there is and then CLOSED.
    pub fn finish(&self) {
        self.finished.store(true, Ordering::SeqCst);
        self.nudge();
    }

    /// The descriptor, readable while there are events to drain. Made at the first call.
    pub fn descriptor(&self) -> Result<&Descriptor> {
        let descriptor = self.descriptor.get_or_try_init(Descriptor::new)?;
        // What came before there was a descriptor has signalled nobody.
        self.refresh_signal();
        Ok(descriptor)
    }

    /// Makes the descriptor readable if there is something.
    pub fn refresh_signal(&self) {
        if self.has_some() {
            self.signal();
        }
    }

    pub fn latest_statistics(&self) -> Option<Arc<str>> {
        lock(&self.statistics).clone()
    }

    /// Chunks of reports and news of other events that wait.
    pub fn depth(&self) -> usize {
        self.receiver.len() + lock(&self.inbox).beside.len()
    }

    /// There are events for the next drain.
    pub fn has_events(&self) -> bool {
        !self.receiver.is_empty() || !lock(&self.inbox).beside.is_empty()
    }

    /// There is something for the next drain or poll, be it the news of the end.
    pub fn has_some(&self) -> bool {
        !self.receiver.is_empty()
            || self.finished.load(Ordering::SeqCst)
            || !lock(&self.inbox).beside.is_empty()
            || self.more.get().is_some_and(|more| more())
    }

    fn closed() -> Error {
        Error::new(
            crate::status::KABI_STATUS_CLOSED,
            "the client is closed and its last event was drained",
        )
    }
}
