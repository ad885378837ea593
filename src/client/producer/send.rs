//! Sending records, one or many. Order is kept: a bulk is split into consecutive runs of one topic and
//! partition and never regrouped, and once a record finds no space, none after it is sent.

use super::{Core, Producer};
use crate::client::lifetime::deadline_of;
use crate::client::topics::Entry as Topic;
use crate::error::{Error, Result};
use crate::rd::produce::{OutHeader, OutMessage, Run, Staging};
use crate::record::{KABI_ERROR_FATAL, KABI_PARTITION_ANY};
use crate::status::{
    KABI_STATUS_CLOSED, KABI_STATUS_INTERRUPTED, KABI_STATUS_OK, KABI_STATUS_QUEUE_FULL,
    KABI_STATUS_STATE,
};
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A run no longer than this keeps its arrays in the cache.
const RUN_MAX: usize = 1024;

/// How soon to look for space again where no news of it comes.
const RECHECK: Duration = Duration::from_millis(5);

/// A record to send, with parts that are copied during the call.
pub struct Record<'a> {
    pub topic: i32,
    pub partition: i32,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    /// Milliseconds since 1970; 0 or less for now.
    pub timestamp: i64,
    pub token: u64,
}

/// A record of a bulk and its headers.
pub struct Entry<'a, H> {
    pub record: Record<'a>,
    pub headers: H,
    pub has_headers: bool,
}

/// What became of a bulk.
pub struct Bulk {
    pub accepted: usize,
    /// The first record's error, if any failed.
    pub first_error: Option<Error>,
}

thread_local! {
    static STAGING: Cell<Staging> = Cell::default();
}

/// Lends the thread its arrays. One that is inside already (a signal handler can't be: sends are not
/// safe in one) would find new, empty ones.
fn with_staging<T>(body: impl FnOnce(&mut Staging) -> T) -> T {
    let mut staging = STAGING.take();
    let result = body(&mut staging);
    STAGING.set(staging);
    result
}

fn queue_full() -> Error {
    Error::new(
        KABI_STATUS_QUEUE_FULL,
        "the queue is full: drain delivery reports, or wait for the brokers and send again",
    )
}

/// How a call waits for space.
struct Patience<'a> {
    core: &'a Core,
    deadline: Option<Instant>,
    wakes: u64,
}

impl<'a> Patience<'a> {
    fn new(core: &'a Core, timeout: Option<Duration>) -> Patience<'a> {
        // In a handler nobody else drains, so that waiting for a slot would be waiting for itself.
        let timeout = if core.events.in_handler() {
            Some(Duration::ZERO)
        } else {
            timeout
        };
        let wakes = core.wakes.load(Ordering::SeqCst);
        Patience {
            core,
            deadline: deadline_of(timeout),
            wakes,
        }
    }

    /// Repeats `attempt` while it fails for lack of space and there is time.
    fn retry(&self, mut attempt: impl FnMut() -> Result<()>) -> Result<()> {
        let full =
            |outcome: &Result<()>| matches!(outcome, Err(e) if e.code == KABI_STATUS_QUEUE_FULL);
        let outcome = attempt();
        if !full(&outcome) {
            return outcome;
        }
        // Without reports nothing tells when a record leaves librdkafka's queue.
        let recheck = (!self.core.reporting).then_some(RECHECK);
        let waited = self.core.events.slots().wait(self.deadline, recheck, || {
            if self.core.closing.load(Ordering::SeqCst) {
                return Some(Err(Error::closed("producer")));
            }
            if self.core.wakes.load(Ordering::SeqCst) != self.wakes {
                return Some(Err(Error::interrupted("the wait for space in the queue")));
            }
            let outcome = attempt();
            (!full(&outcome)).then_some(outcome)
        });
        waited.unwrap_or(outcome)
    }
}

fn check_partition(partition: i32) -> Result<()> {
    if partition < KABI_PARTITION_ANY {
        return Err(Error::argument(format!(
            "partition {partition}: it is 0 or more, or KABI_PARTITION_ANY"
        )));
    }
    Ok(())
}

impl Producer {
    /// Sends one record.
    pub fn send<'h>(
        &self,
        record: &Record<'_>,
        headers: impl Iterator<Item = OutHeader<'h>> + Clone,
        timeout: Option<Duration>,
    ) -> Result<()> {
        let core = &*self.core;
        let topic = core.topics.get(record.topic)?;
        check_partition(record.partition)?;
        with_staging(|staging| {
            let patience = Patience::new(core, timeout);
            patience.retry(|| core.send_now(staging, topic, record, headers.clone()))
        })?;
        core.events.counts.accepted.add(1);
        Ok(())
    }

    /// Sends records in order. `status` is told of each one's outcome, in order, exactly once.
    pub fn send_bulk<'a, H>(
        &self,
        entries: impl Iterator<Item = Result<Entry<'a, H>>>,
        timeout: Option<Duration>,
        status: impl FnMut(usize, i32),
    ) -> Bulk
    where
        H: Iterator<Item = OutHeader<'a>> + Clone,
    {
        let core = &*self.core;
        with_staging(|staging| {
            let patience = Patience::new(core, timeout);
            let mut sink = Sink {
                status,
                accepted: 0,
                first_error: None,
                next: 0,
                ended: None,
            };
            core.send_entries(staging, entries, &patience, &mut sink);
            core.events.counts.accepted.add(sink.accepted as u64);
            Bulk {
                accepted: sink.accepted,
                first_error: sink.first_error,
            }
        })
    }
}

/// Collects the outcomes of a bulk.
struct Sink<F> {
    status: F,
    accepted: usize,
    first_error: Option<Error>,
    /// The index of the first entry whose outcome is not known yet.
    next: usize,
    /// The code that ended the bulk: everything after gets it too, to keep the order.
    ended: Option<i32>,
}

impl<F: FnMut(usize, i32)> Sink<F> {
    fn ok(&mut self, count: usize) {
        for i in self.next..self.next + count {
            (self.status)(i, KABI_STATUS_OK);
        }
        self.next += count;
        self.accepted += count;
    }

    fn failed(&mut self, error: Error) {
        (self.status)(self.next, error.code);
        let index = self.next;
        self.next += 1;
        self.first_error.get_or_insert_with(|| Error {
            message: format!("record {index}: {}", error.message),
            ..error
        });
    }

    /// Outcomes that stop the bulk: what follows would overtake this record.
    fn end(&mut self, error: Error) {
        self.ended = Some(error.code);
        self.failed(error);
    }

    fn skip(&mut self, count: usize, code: i32) {
        for i in self.next..self.next + count {
            (self.status)(i, code);
        }
        self.next += count;
    }
}

/// Errors that are about the moment, not about the record.
fn stops(error: &Error) -> bool {
    matches!(
        error.code,
        KABI_STATUS_QUEUE_FULL | KABI_STATUS_CLOSED | KABI_STATUS_INTERRUPTED | KABI_STATUS_STATE
    ) || error.flags & KABI_ERROR_FATAL != 0
}

impl Core {
    fn send_now<'h>(
        &self,
        staging: &mut Staging,
        topic: &Topic,
        record: &Record<'_>,
        headers: impl Iterator<Item = OutHeader<'h>> + Clone,
    ) -> Result<()> {
        if self.reporting && self.events.slots().take(1) == 0 {
            return Err(queue_full());
        }
        let message = OutMessage {
            partition: record.partition,
            key: record.key,
            value: record.value,
            timestamp: record.timestamp,
            token: record.token,
        };
        let outcome = staging.send(&topic.topic, &message, headers);
        outcome.map_err(|e| {
            let full = e.code == KABI_STATUS_QUEUE_FULL;
            if self.reporting {
                self.unused(1, full);
            }
            if full {
                queue_full()
            } else {
                self.explain(e)
            }
        })
    }

    fn send_entries<'a, H, F>(
        &self,
        staging: &mut Staging,
        entries: impl Iterator<Item = Result<Entry<'a, H>>>,
        patience: &Patience<'_>,
        sink: &mut Sink<F>,
    ) where
        H: Iterator<Item = OutHeader<'a>> + Clone,
        F: FnMut(usize, i32),
    {
        let mut entries = entries.peekable();
        while let Some(entry) = entries.next() {
            if let Some(code) = sink.ended {
                sink.skip(1, code);
                continue;
            }
            let checked = entry.and_then(|entry| {
                check_partition(entry.record.partition)?;
                Ok((self.topics.get(entry.record.topic)?, entry))
            });
            let (topic, entry) = match checked {
                Ok(found) => found,
                Err(error) => {
                    sink.failed(error);
                    continue;
                }
            };
            if !is_plain(&entry) {
                let Entry {
                    record, headers, ..
                } = entry;
                let outcome =
                    patience.retry(|| self.send_now(staging, topic, &record, headers.clone()));
                match outcome {
                    Ok(()) => sink.ok(1),
                    Err(error) if stops(&error) => sink.end(error),
                    Err(error) => sink.failed(error),
                }
                continue;
            }
            let (topic_number, partition) = (entry.record.topic, entry.record.partition);
            let mut run = staging.run();
            run.push(entry.record.key, entry.record.value, entry.record.token);
            while run.len() < RUN_MAX {
                let same = |next: &Result<Entry<'a, H>>| {
                    next.as_ref().is_ok_and(|e| {
                        is_plain(e)
                            && e.record.topic == topic_number
                            && e.record.partition == partition
                    })
                };
                let Some(Ok(next)) = entries.next_if(same) else {
                    break;
                };
                run.push(next.record.key, next.record.value, next.record.token);
            }
            self.send_run(&mut run, topic, partition, patience, sink);
        }
    }

    /// Sends a run, as much at a time as there is space for.
    fn send_run<F: FnMut(usize, i32)>(
        &self,
        run: &mut Run<'_, '_>,
        topic: &Topic,
        partition: i32,
        patience: &Patience<'_>,
        sink: &mut Sink<F>,
    ) {
        let mut done = 0;
        while done < run.len() {
            let outcome = patience.retry(|| {
                let before = done;
                done += self.send_part(run, done, topic, partition, sink);
                if done > before {
                    Ok(())
                } else {
                    Err(queue_full())
                }
            });
            if let Err(error) = outcome {
                let code = error.code;
                sink.end(error);
                sink.skip(run.len() - done - 1, code);
                return;
            }
        }
    }

    /// Sends what there is space for from `from` on. Returns how many records have their outcome now; 0
    /// if there is no space.
    fn send_part<F: FnMut(usize, i32)>(
        &self,
        run: &mut Run<'_, '_>,
        from: usize,
        topic: &Topic,
        partition: i32,
        sink: &mut Sink<F>,
    ) -> usize {
        let wanted = run.len() - from;
        let slots = if self.reporting {
            self.events.slots().take(wanted)
        } else {
            wanted
        };
        if slots == 0 {
            return 0;
        }
        // All before `at` have their outcome. Once the queue is full, librdkafka takes nothing more.
        let mut at = from;
        let mut full = false;
        let taken = run.send(&topic.topic, partition, from..from + slots, |i, code| {
            if full {
                return;
            }
            sink.ok(i - at);
            at = i;
            if code == KABI_STATUS_QUEUE_FULL {
                full = true;
            } else {
                sink.failed(self.explain(Error::of_code(code, "send")));
                at = i + 1;
            }
        });
        if !full {
            sink.ok(from + slots - at);
            at = from + slots;
        }
        if self.reporting {
            self.unused(slots - taken, full);
        }
        at - from
    }

    fn unused(&self, slots: usize, full: bool) {
        if full {
            self.events.slots().give_back(slots);
        } else {
            self.events.slots().give(slots);
        }
    }
}

/// Nothing about it that only the call for single messages takes.
fn is_plain<H>(entry: &Entry<'_, H>) -> bool {
    !entry.has_headers && entry.record.timestamp <= 0
}
