//! The producer: topic numbers, flush, purge, and how it ends. Sending is in `send`, what the service
//! thread does in `service`.

mod send;
mod service;
mod transaction;

pub use send::{Bulk, Entry, Record};
pub use transaction::OffsetsOf;

use crate::client::admin::Base;
use crate::client::config::Config;
use crate::client::events::Events;
use crate::client::hints;
use crate::client::lifetime::{deadline_of, remaining_up_to, Control, Held};
use crate::client::metrics::{document, OfEvents, OfRecords, Own};
use crate::client::service::throttled;
use crate::client::threads;
use crate::client::topics::Topics;
use crate::error::{Error, Result};
use crate::rd::client::{Client, Hooks, Kind};
use crate::rd::queue::Queue;
use crate::rd::sasl::Token;
use crate::record::{
    KABI_EVENT_LOG, KABI_EVENT_REPORT, KABI_EVENT_REQUEST, KABI_PURGE_IN_FLIGHT, KABI_PURGE_QUEUED,
};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use transaction::Transactions;

/// Waits that librdkafka does not let us cut short are done in slices of this, so that a wake is seen in
/// time.
const SLICE: Duration = Duration::from_millis(50);

/// How long a close waits for the reports of records that it gave up.
const LAST_REPORTS: Duration = Duration::from_millis(500);
/// How often it looks.
const RECHECK: Duration = Duration::from_millis(2);

/// How a close went.
pub struct Finish {
    /// Records that failed or were given up.
    pub undelivered: u64,
    /// The time was up.
    pub gave_up: bool,
    /// Whether the transaction that was begun is committed or aborted.
    pub transaction: Result<()>,
}

/// What the program's handle and the service thread share. Fields are dropped in this order.
struct Core {
    topics: Topics,
    queue: Queue,
    client: Arc<Client>,
    events: Arc<Events>,
    control: Arc<Control>,
    transactions: Transactions,
    /// Reports are wanted: each accepted record takes a slot.
    reporting: bool,
    report_latency: bool,
    message_timeout: Option<Duration>,
    /// Calls that wait are to give up.
    closing: AtomicBool,
    /// Grows with each wake, which ends the waits that began before it.
    wakes: AtomicU64,
}

/// An open producer. Dropping it without `finish` or `abandon` leaves what is queued to librdkafka's
/// destroy, which loses it.
pub struct Producer {
    core: Held<Core>,
}

impl Producer {
    pub fn new(config: &Config) -> Result<Producer> {
        let (conf, settings) = config.build(Kind::Producer)?;
        let events = Arc::new(Events::new(settings.mask, settings.events_max));
        let hooks = Hooks {
            throttled: throttled(&events),
            ..Hooks::default()
        };
        let client =
            Client::new(Kind::Producer, conf, settings.events, hooks).map_err(hints::making)?;
        if settings.mask & KABI_EVENT_LOG != 0 {
            client.logs_to_main_queue()?;
        }
        let queue = client
            .main_queue()
            .ok_or_else(|| Error::system("asking for the queue"))?;
        let core = Arc::new(Core {
            topics: Topics::default(),
            queue,
            client,
            events,
            control: Arc::default(),
            transactions: Transactions::new(settings.transactional),
            reporting: settings.mask & KABI_EVENT_REPORT != 0,
            report_latency: settings.report_latency,
            message_timeout: settings.message_timeout,
            closing: AtomicBool::new(false),
            wakes: AtomicU64::new(0),
        });
        let control = Arc::clone(&core.control);
        service::start(Arc::clone(&core))?;
        Ok(Producer {
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
            noun: "producer",
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
        let events = &self.core.events;
        let counts = &events.counts;
        let records = OfRecords {
            accepted: counts.accepted.get(),
            delivered: self.core.reporting.then(|| counts.delivered.get()),
            failed: counts.failed.get(),
        };
        let own = Own {
            client: "producer",
            events: OfEvents::of(events),
            records: Some(records),
            batches_alive: None,
            handles_alive,
        };
        document(events, &own)
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

    /// Ends waits in progress and the poll for events in progress, or else the next one.
    pub fn wake(&self) {
        self.core.wakes.fetch_add(1, Ordering::SeqCst);
        self.core.events.wake();
        self.core.transactions.nudge();
    }

    /// Calls that wait give up with CLOSED from now on.
    pub fn begin_close(&self) {
        self.core.closing.store(true, Ordering::SeqCst);
        self.core.events.nudge();
        self.core.transactions.nudge();
    }

    /// Waits until every accepted record has its report. Returns how many failed since the last flush
    /// that was finished.
    pub fn flush(&self, timeout: Option<Duration>, timeout_ms: i32) -> Result<u64> {
        let wakes = self.core.wakes.load(Ordering::SeqCst);
        let deadline = deadline_of(timeout);
        let done = self.flush_slices(deadline, || {
            if self.core.closing.load(Ordering::SeqCst) {
                Err(Error::closed("producer"))
            } else if self.core.wakes.load(Ordering::SeqCst) != wakes {
                Err(Error::interrupted("flush"))
            } else {
                Ok(())
            }
        })?;
        if done {
            return Ok(self.core.events.take_failed());
        }
        let left = self.core.client.outstanding();
        let error = Error::timed_out("flush", timeout_ms);
        let message = format!("{}; {left} records are still under way", error.message);
        Err(Error { message, ..error })
    }

    /// False when the time is up.
    fn flush_slices(
        &self,
        deadline: Option<Instant>,
        mut go_on: impl FnMut() -> Result<()>,
    ) -> Result<bool> {
        loop {
            let slice = remaining_up_to(deadline, SLICE);
            if self.core.client.flush(Some(slice)) {
                return Ok(true);
            }
            go_on()?;
            if slice.is_zero() {
                return Ok(false);
            }
        }
    }

    /// Gives up records: their reports say so.
    pub fn purge(&self, what: u32) -> Result<()> {
        if what == 0 || what & !(KABI_PURGE_QUEUED | KABI_PURGE_IN_FLIGHT) != 0 {
            return Err(Error::argument(format!(
                "purge of {what:#x}: it is KABI_PURGE_QUEUED, KABI_PURGE_IN_FLIGHT or both"
            )));
        }
        self.core.client.purge(
            what & KABI_PURGE_QUEUED != 0,
            what & KABI_PURGE_IN_FLIGHT != 0,
        )
    }

    /// The first part of a close, with no other call inside: aborts the transaction that is open, waits
    /// for reports until the deadline, then gives up the rest.
    pub fn finish(self, timeout: Option<Duration>, deadline: Option<Instant>) -> Finish {
        // With reports off, this is the last chance to learn of failures since the last flush.
        let known = if self.core.reporting {
            self.core.events.failed()
        } else {
            0
        };
        let transaction = transaction::finish(&self.core, deadline, timeout);
        let done = self.flush_slices(deadline, || Ok(())).unwrap_or(false);
        if !done {
            let _ = self.core.client.purge(true, true);
            // Each of them gets its report from the service thread, a matter of milliseconds.
            let settled = || (self.core.client.outstanding() == 0).then_some(());
            let patience = deadline_of(Some(LAST_REPORTS));
            self.core
                .events
                .slots()
                .wait(patience, Some(RECHECK), settled);
        }
        let failed = self.core.events.failed() - known;
        let left = if done { 0 } else { self.under_way() };
        self.core.control.stop();
        self.core.queue.wake();
        Finish {
            undelivered: failed + left,
            gave_up: !done,
            transaction,
        }
    }

    /// Records that have no report yet. librdkafka's own count has events in it, so that is only for when
    /// ours can't tell.
    fn under_way(&self) -> u64 {
        let counts = &self.core.events.counts;
        if self.core.reporting {
            let told = counts.delivered.get() + counts.failed.get();
            counts.accepted.get().saturating_sub(told)
        } else {
            self.core.client.outstanding() as u64
        }
    }

    /// A free without a close: what is queued is flushed in the background within message.timeout.ms, and
    /// a transaction that is open aborted.
    pub fn abandon(self) {
        self.core.closing.store(true, Ordering::SeqCst);
        if self.core.client.outstanding() == 0 && !self.core.transactions.are_busy() {
            self.finish(Some(Duration::ZERO), deadline_of(Some(Duration::ZERO)));
            return;
        }
        let cell = Arc::new(std::sync::Mutex::new(Some(self)));
        let theirs = Arc::clone(&cell);
        let finish = |cell: &std::sync::Mutex<Option<Producer>>, at_once: bool| {
            let Some(producer) = crate::client::lifetime::lock(cell).take() else {
                return;
            };
            let timeout = if at_once {
                Some(Duration::ZERO)
            } else {
                producer.core.message_timeout
            };
            let finish = producer.finish(timeout, deadline_of(timeout));
            if let Err(error) = &finish.transaction {
                eprintln!(
                    "kafkabi: a producer was freed without a close; its transaction is left to the \
                     coordinator: {}",
                    error.message
                );
            } else if finish.undelivered > 0 {
                eprintln!(
                    "kafkabi: a producer was freed without a close; {} records were not delivered",
                    finish.undelivered
                );
            }
        };
        if threads::spawn("kafkabi-free", move || finish(&theirs, false)).is_err() {
            finish(&cell, true);
        }
    }
}
