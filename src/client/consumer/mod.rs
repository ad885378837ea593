//! The consumer: how it begins, is woken and shared. Polling is in `poll` and `gate`; the group and what it
//! assigns in `assignment` and `change`; positions in `seek`, `pause` and `offsets`; commits in `commit` and
//! `commit_async`, and why they wait in `denial`; that partitions begin to be read in `starts`; what was handed out and
//! handled in `tracking` and `ledger`, what is passed without being handed out in `markers`; how it ends in `close`.

mod aside;
mod assignment;
mod bell;
mod change;
mod close;
mod commit;
mod commit_async;
mod denial;
mod gate;
mod ledger;
mod markers;
mod offsets;
mod pause;
mod poll;
mod seek;
mod service;
mod starts;
mod tracking;

pub use change::Listener;
pub use commit::Committed;
pub use ledger::Key;
pub use offsets::Answer;
pub use poll::{HeldBatch, PackedBatch};

use crate::client::admin::Base;
use crate::client::config::Config;
use crate::client::events::Events;
use crate::client::hints;
use crate::client::lifetime::{Control, Held};
use crate::client::metrics::{document, OfEvents, Own};
use crate::client::service::throttled;
use crate::client::topics::Topics;
use crate::error::{Error, Result};
use crate::rd::client::{Client, Hooks, Kind};
use crate::rd::partitions::PartitionList;
use crate::rd::queue::Queue;
use crate::rd::received::Messages;
use crate::rd::sasl::Token;
use crate::rd::transaction::GroupMetadata;
use crate::record::{
    KABI_EVENT_ASSIGNMENT, KABI_EVENT_LOG, KABI_EVENT_REQUEST, KABI_OFFSET_INVALID,
};
use bell::Bell;
use change::Hook;
use commit_async::Commits;
use denial::Denial;
use gate::{Gate, Pull};
use once_cell::sync::OnceCell;
use starts::Starts;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tracking::Tracking;

/// Waits that librdkafka does not let us cut short are done in slices of this, so that a wake is seen in
/// time.
const SLICE: Duration = Duration::from_millis(50);

/// What the program's handle, its batches and the service thread share. Fields are dropped in this
/// order: what points into the client before the client.
struct Core {
    gate: Gate,
    topics: Topics,
    /// Where records and assignment changes come from.
    bell: Arc<Bell>,
    /// Where everything else comes from.
    main_queue: Queue,
    client: Arc<Client>,
    tracking: Tracking,
    events: Arc<Events>,
    control: Arc<Control>,
    commits: Commits,
    denial: Denial,
    starts: Starts,
    /// The program's handler of assignment changes.
    listener: Option<Listener>,
    /// Changes of the assignment wait until the program applies them by a call.
    apply_by_call: bool,
    /// Only `handled` says that records are handled, not the next poll.
    explicit: bool,
    auto_commit: bool,
    has_group: bool,
    /// Where partitions begin that are assigned without an offset, when there is no group to ask.
    beginning: i64,
    closing: AtomicBool,
    /// For threads that ask something.
    myself: OnceCell<Weak<Core>>,
    /// A wake that no poll for records has seen yet.
    woken: AtomicBool,
    /// Grows with each wake, which ends the waits that began before it.
    wakes: AtomicU64,
    /// Batches that the program has not freed.
    batches: AtomicUsize,
}

/// An open consumer.
pub struct Consumer {
    core: Held<Core>,
}

/// A partition that a call names, by topic number.
#[derive(Debug, Clone, Copy)]
pub struct Partition<'a> {
    pub key: Key,
    pub offset: i64,
    pub leader_epoch: i32,
    pub metadata: Option<&'a [u8]>,
}

impl Consumer {
    /// `listener` hands assignment changes to the program's handler; they count only if the event mask has
    /// them.
    pub fn new(config: &Config, listener: Option<Listener>) -> Result<Consumer> {
        let (conf, settings) = config.build(Kind::Consumer)?;
        let core_cell = Arc::new(OnceCell::new());
        let hook = Hook {
            core: Arc::clone(&core_cell),
        };
        let events = Arc::new(Events::new(settings.mask, settings.events_max));
        let hooks = Hooks {
            rebalance: Some(Box::new(hook)),
            throttled: throttled(&events),
        };
        let client =
            Client::new(Kind::Consumer, conf, settings.events, hooks).map_err(hints::making)?;
        if settings.mask & KABI_EVENT_LOG != 0 {
            client.logs_to_main_queue()?;
        }
        let no_queue = || Error::system("asking for the consumer's queues");
        let main_queue = client.main_queue().ok_or_else(no_queue)?;
        let queue = client.consumer_queue().ok_or_else(no_queue)?;
        let bell = Arc::new(Bell::new(queue));
        let weak = Arc::downgrade(&bell);
        // A poll for records runs the handlers, so an event ends its wait.
        events.set_hook(move || {
            if let Some(bell) = weak.upgrade() {
                bell.ring();
            }
        });
        let core = Arc::new(Core {
            gate: Gate::new(Pull::new(Messages::new(&client), Messages::new(&client))),
            topics: Topics::default(),
            bell,
            main_queue,
            client,
            tracking: Tracking::default(),
            events,
            control: Arc::default(),
            commits: Commits::default(),
            denial: Denial::default(),
            starts: Starts::default(),
            listener: listener.filter(|_| settings.mask & KABI_EVENT_ASSIGNMENT != 0),
            apply_by_call: settings.assignment_by_call,
            explicit: settings.handled_explicit,
            auto_commit: settings.auto_commit,
            has_group: settings.group_id.is_some(),
            beginning: settings.beginning,
            closing: AtomicBool::new(false),
            myself: OnceCell::new(),
            woken: AtomicBool::new(false),
            wakes: AtomicU64::new(0),
            batches: AtomicUsize::new(0),
        });
        let _ = core_cell.set(Arc::downgrade(&core));
        let _ = core.myself.set(Arc::downgrade(&core));
        let control = Arc::clone(&core.control);
        service::start(Arc::clone(&core))?;
        let watched = Arc::downgrade(&core);
        core.events
            .set_more(move || watched.upgrade().is_some_and(|core| core.has_records()));
        Ok(Consumer {
            core: Held::new(core, control),
        })
    }

    pub fn events(&self) -> &Arc<Events> {
        &self.core.events
    }

    pub fn control(&self) -> &Arc<Control> {
        &self.core.control
    }

    /// For an admin on top of it.
    pub fn base(&self) -> Base {
        Base {
            client: Arc::clone(&self.core.client),
            control: Arc::clone(&self.core.control),
            hold: Box::new(self.core.clone()),
            noun: "consumer",
            wants_events: self.core.events.wants(KABI_EVENT_REQUEST),
        }
    }

    pub fn topic(&self, name: &str) -> Result<i32> {
        self.core.topics.number(&self.core.client, name)
    }

    pub fn topic_name(&self, number: i32) -> Result<&str> {
        self.core.topics.get(number).map(|entry| &*entry.name)
    }

    /// Statistics and counters, as JSON.
    pub fn metrics(&self, handles_alive: usize) -> String {
        let own = Own {
            client: "consumer",
            events: OfEvents::of(&self.core.events),
            records: None,
            batches_alive: Some(self.core.batches.load(Ordering::SeqCst)),
            handles_alive,
        };
        document(&self.core.events, &own)
    }

    /// User and password for connections from now on.
    pub fn set_credentials(&self, user: &str, password: &str) -> Result<()> {
        self.core.client.set_credentials(user, password)
    }

    /// Hands a token for SASL/OAUTHBEARER over.
    pub fn set_token(&self, token: &Token<'_>) -> Result<()> {
        self.core.client.set_token(token)
    }

    /// Says that there is no token to be had.
    pub fn set_token_failure(&self, why: &str) -> Result<()> {
        self.core.client.set_token_failure(why)
    }

    /// Ends the poll for records and the one for events in progress, or else the next one of each, and
    /// other waits in progress.
    pub fn wake(&self) {
        self.core.wakes.fetch_add(1, Ordering::SeqCst);
        self.core.woken.store(true, Ordering::SeqCst);
        self.core.events.wake();
        self.core.bell.ring();
    }

    /// Calls that wait give up with CLOSED from now on.
    pub fn begin_close(&self) {
        self.core.closing.store(true, Ordering::SeqCst);
        self.core.events.nudge();
        self.core.bell.ring();
    }

    fn need_group(&self, doing: &str) -> Result<()> {
        if self.core.has_group {
            return Ok(());
        }
        Err(Error::new(
            crate::status::KABI_STATUS_UNKNOWN_GROUP,
            format!("{doing} needs the property group.id, which is not set"),
        ))
    }

    /// The offset after the last record handed out of a partition, or where it was told to begin.
    pub fn position(&self, key: Key) -> Result<i64> {
        self.core.topics.get(key.0)?;
        let position = self.core.tracking.with(|state| state.position(key));
        Ok(position.unwrap_or(KABI_OFFSET_INVALID))
    }

    /// What a transaction has to know to commit offsets for this consumer's group: the partitions, by its
    /// topic numbers, and who it is in the group.
    pub(super) fn for_transaction(
        &self,
        partitions: &[Partition<'_>],
    ) -> Result<(PartitionList, GroupMetadata)> {
        self.need_group("transaction offsets")?;
        let list = self.core.list(partitions)?;
        Ok((list, GroupMetadata::of(&self.core.client)?))
    }

    /// The first `count` records of a batch are handled.
    pub fn handled(&self, number: u64, count: usize) -> Result<()> {
        let core = &self.core;
        core.tracking.store(&core.client, &core.topics, |s| {
            s.ledger.handled(number, count)
        })
    }
}

impl Consumer {
    /// Runs `body` with no poll inside, so that it can move partitions. A poll that waits makes way.
    fn visit<T>(&self, doing: &str, body: impl FnOnce(&Core, &mut Pull) -> Result<T>) -> Result<T> {
        let core = &*self.core;
        let wakes = core.wakes.load(Ordering::SeqCst);
        let visit = core
            .gate
            .visit(None, || core.go_on(wakes, doing), || core.bell.ring())?;
        let mut visit = visit.ok_or_else(|| Error::closed("consumer"))?;
        let outcome = visit.with(|pull| body(core, pull));
        drop(visit);
        core.events.refresh_signal();
        outcome
    }
}

impl Core {
    /// A list of librdkafka's with these partitions.
    fn list(&self, partitions: &[Partition<'_>]) -> Result<PartitionList> {
        crate::client::partitions::list(&self.topics, partitions)
    }

    /// Whether a wait that began at `wakes` is to go on.
    fn go_on(&self, wakes: u64, doing: &str) -> Result<()> {
        if self.closing.load(Ordering::SeqCst) {
            return Err(Error::closed("consumer"));
        }
        if self.wakes.load(Ordering::SeqCst) != wakes {
            return Err(Error::interrupted(doing));
        }
        Ok(())
    }
}
