//! The requests of an admin by their numbers: those under way, and those whose outcome waits to be fetched.
//! Each holds a slot of the events until its outcome is drained, fetched or dropped.

use super::operations::Reader;
use crate::client::events::{Events, Told};
use crate::client::lifetime::{lock, wait_until};
use crate::document::{Failure, Status};
use crate::error::{Error, Result};
use crate::record::{KABI_ERROR_OUTCOME_UNKNOWN, KABI_ERROR_RETRIABLE, KABI_EVENT_REQUEST};
use crate::status::{KABI_STATUS_CLOSED, KABI_STATUS_NOENT, KABI_STATUS_TIMED_OUT};
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Instant;

/// Where an outcome goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    Event,
    Kept,
}

struct Entry {
    how: How,
    operation: &'static str,
    read: Reader,
    began: Instant,
    /// By then it is over, whatever librdkafka says.
    ends: Instant,
    /// What is kept.
    outcome: Option<Result<String>>,
    /// It will not be answered any more.
    settled: bool,
}

#[derive(Default)]
struct State {
    last: u64,
    /// By number, which grows: the oldest first.
    entries: BTreeMap<u64, Entry>,
    /// Why there are no more requests.
    refusal: Option<Error>,
    /// Grows with each wake, which ends the waits that began before it.
    wakes: u64,
}

pub struct Requests {
    state: Mutex<State>,
    changed: Condvar,
    events: Arc<Events>,
}

impl Requests {
    pub fn new(events: Arc<Events>) -> Requests {
        Requests {
            state: Mutex::default(),
            changed: Condvar::new(),
            events,
        }
    }

    /// Takes a request in, which holds a slot already.
    pub fn add(
        &self,
        how: How,
        operation: &'static str,
        read: Reader,
        ends: Instant,
    ) -> Result<u64> {
        let mut state = lock(&self.state);
        if let Some(why) = &state.refusal {
            return Err(why.clone());
        }
        state.last += 1;
        let number = state.last;
        let entry = Entry {
            how,
            operation,
            read,
            began: Instant::now(),
            ends,
            outcome: None,
            settled: false,
        };
        state.entries.insert(number, entry);
        Ok(number)
    }

    /// When the oldest began that is not answered.
    pub fn oldest(&self) -> Option<Instant> {
        let state = lock(&self.state);
        let mut entries = state.entries.values();
        entries.find(|e| !e.settled).map(|e| e.began)
    }

    /// How the answer of a request is read; `None` if nobody wants it any more.
    pub fn reader(&self, number: u64) -> Option<Reader> {
        lock(&self.state).entries.get(&number).map(|e| e.read)
    }

    /// The outcome of a request is known.
    pub fn settle(&self, number: u64, outcome: Result<String>) {
        let mut state = lock(&self.state);
        let Some(entry) = state.entries.get_mut(&number).filter(|e| !e.settled) else {
            return;
        };
        let outcome = outcome.map_err(|error| error.about(entry.operation));
        entry.settled = true;
        match entry.how {
            How::Kept => entry.outcome = Some(outcome),
            How::Event => {
                state.entries.remove(&number);
                self.events.push_single(told(number, outcome));
            }
        }
        drop(state);
        self.changed.notify_all();
    }

    /// How many wakes there were: those after end a wait that knows the number.
    pub fn wakes(&self) -> u64 {
        lock(&self.state).wakes
    }

    /// Waits for an outcome that is kept, hands it to `take`, and drops it if that succeeds. A wake after
    /// the first `wakes` ends the wait.
    pub fn result<T>(
        &self,
        number: u64,
        wakes: u64,
        deadline: Option<Instant>,
        timeout_ms: i32,
        take: impl FnOnce(&str) -> Result<T>,
    ) -> Result<T> {
        let mut state = lock(&self.state);
        loop {
            let entry = kept(&state, number)?;
            if let Some(outcome) = &entry.outcome {
                let taken = match outcome {
                    Ok(document) => take(document),
                    Err(error) => {
                        let error = error.clone();
                        self.remove(&mut state, number);
                        return Err(error);
                    }
                };
                if taken.is_ok() {
                    self.remove(&mut state, number);
                }
                return taken;
            }
            if let Some(why) = &state.refusal {
                return Err(why.clone().with_flags(KABI_ERROR_OUTCOME_UNKNOWN));
            }
            if state.wakes != wakes {
                return Err(Error::new(
                    crate::status::KABI_STATUS_INTERRUPTED,
                    format!(
                        "{} was cut short by a wake and goes on; kabi_admin_result() waits again",
                        entry.operation
                    ),
                ));
            }
            let now = Instant::now();
            if now >= entry.ends {
                let error = late(entry);
                self.remove(&mut state, number);
                return Err(error);
            }
            let ends = entry.ends;
            if deadline.is_some_and(|d| now >= d) {
                let doing = format!("waiting for {}, which goes on,", entry.operation);
                return Err(Error {
                    flags: KABI_ERROR_RETRIABLE,
                    ..Error::timed_out(&doing, timeout_ms)
                });
            }
            let until = deadline.map_or(ends, |d| d.min(ends));
            state = wait_until(&self.changed, state, Some(until)).0;
        }
    }

    /// Drops an outcome that is kept, now or when it comes.
    pub fn discard(&self, number: u64) -> Result<()> {
        let mut state = lock(&self.state);
        kept(&state, number)?;
        self.remove(&mut state, number);
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// The same, for a request that may be gone.
    pub fn forget(&self, number: u64) {
        self.remove(&mut lock(&self.state), number);
    }

    fn remove(&self, state: &mut MutexGuard<'_, State>, number: u64) {
        if state.entries.remove(&number).is_some() {
            self.events.slots().give(1);
        }
    }

    pub fn wake(&self) {
        lock(&self.state).wakes += 1;
        self.changed.notify_all();
    }

    /// No more requests, and nobody waits any more.
    pub fn refuse(&self, why: Error) {
        lock(&self.state).refusal.get_or_insert(why);
        self.changed.notify_all();
    }

    pub fn refusal(&self) -> Error {
        let refusal = lock(&self.state).refusal.clone();
        refusal.unwrap_or_else(|| Error::closed("admin"))
    }

    pub fn unanswered(&self) -> usize {
        count_unanswered(&lock(&self.state))
    }

    pub fn wait_for_answers(&self, deadline: Option<Instant>) {
        let mut state = lock(&self.state);
        let mut in_time = true;
        while in_time && count_unanswered(&state) > 0 {
            (state, in_time) = wait_until(&self.changed, state, deadline);
        }
    }

    /// Settles what is not answered. How many that were.
    pub fn give_up(&self, why: &Error) -> usize {
        let numbers: Vec<u64> = {
            let state = lock(&self.state);
            let open = state.entries.iter().filter(|(_, e)| !e.settled);
            open.map(|(number, _)| *number).collect()
        };
        for number in &numbers {
            let error = Error::new(
                KABI_STATUS_CLOSED,
                format!("given up without an answer: {}", why.message),
            );
            self.settle(*number, Err(error.with_flags(KABI_ERROR_OUTCOME_UNKNOWN)));
        }
        numbers.len()
    }
}

fn count_unanswered(state: &State) -> usize {
    state.entries.values().filter(|e| !e.settled).count()
}

fn kept(state: &State, number: u64) -> Result<&Entry> {
    let why = match state.entries.get(&number) {
        Some(entry) if entry.how == How::Kept => return Ok(entry),
        Some(_) => "its outcome comes as an event",
        None => {
            "there is none: never given out, fetched or dropped already, or its outcome is an event"
        }
    };
    Err(Error::new(
        KABI_STATUS_NOENT,
        format!("request {number}: {why}"),
    ))
}

fn late(entry: &Entry) -> Error {
    Error::new(
        KABI_STATUS_TIMED_OUT,
        format!("{}: no answer came in the time given", entry.operation),
    )
}

/// The event of a request.
fn told(number: u64, outcome: Result<String>) -> Told {
    let (code, flags, document) = match outcome {
        Ok(document) => (0, 0, document),
        Err(error) => {
            let failure = Failure {
                error: Status::new(error.code, error.message),
            };
            let document = serde_json::to_string(&failure).unwrap_or_default();
            (error.code, error.flags, document)
        }
    };
    let mut told = Told::new(KABI_EVENT_REQUEST, code, document);
    told.event.token = number;
    told.event.flags = flags;
    told
}
