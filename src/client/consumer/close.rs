//! How a consumer ends: what was handled is committed, the group is left, and nothing of the batch in
//! hand is stored. All of it within the time-out, whatever the brokers do.

use super::change::told;
use super::denial::Doubt;
use super::{Consumer, Core, SLICE};
use crate::client::lifetime::{deadline_of, lock, remaining_up_to};
use crate::client::threads;
use crate::error::{Error, Result};
use crate::rd::client::Change;
use crate::rd::queue::{Event, EventKind};
use crate::status::{
    KABI_STATUS_ILLEGAL_GENERATION, KABI_STATUS_NO_OFFSET, KABI_STATUS_REBALANCE_IN_PROGRESS,
    KABI_STATUS_REVOKE_PARTITIONS, KABI_STATUS_TIMED_OUT,
};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a consumer that was freed without a close may take to say goodbye, in the background.
const GOODBYE: Duration = Duration::from_secs(10);

/// How long, and how often in any case, a close repeats a commit that a rebalance of the group refuses. A
/// coordinator may hold the first answer back until the group is done.
const REBALANCE: Duration = Duration::from_secs(1);
const REPEATS: u32 = 3;

/// How long a close waits for the last event to be in.
const LAST_EVENT: Duration = Duration::from_secs(1);

impl Consumer {
    /// Ends the consumer, with no other call inside.
    pub fn finish(self, deadline: Option<Instant>, timeout_ms: i32) -> Result<()> {
        let saved = self.core.save_handled(deadline, timeout_ms);
        let left = match &saved {
            // The coordinator does not answer: leaving would wait for it as well. The group notices
            // by itself when the session time-out is over.
            Err(e) if e.code == KABI_STATUS_TIMED_OUT => Ok(()),
            // Nor can a group be left that this client may not use.
            _ if self.core.denial.is_stuck() => Ok(()),
            _ => self.core.leave_group(deadline, timeout_ms),
        };
        let control = Arc::clone(&self.core.control);
        let ends_now = self.core.batches.load(Ordering::SeqCst) == 0;
        control.stop();
        self.core.main_queue.wake();
        drop(self);
        // A matter of milliseconds, and not of batches that are still held.
        control.wait_for_last_event(deadline_of(Some(LAST_EVENT)));
        if saved.is_ok() && left.is_ok() && ends_now {
            // A matter of milliseconds; if not, it goes on without us.
            control.wait_for_end(deadline);
        }
        saved.and(left)
    }

    /// A free without a close: committed and left in the background.
    pub fn abandon(self) {
        self.core.closing.store(true, Ordering::SeqCst);
        let cell = Arc::new(Mutex::new(Some(self)));
        let theirs = Arc::clone(&cell);
        let finish = |cell: &Mutex<Option<Consumer>>, patience: Duration| {
            let Some(consumer) = lock(cell).take() else {
                return;
            };
            let ms = i32::try_from(patience.as_millis()).unwrap_or(i32::MAX);
            if let Err(error) = consumer.finish(deadline_of(Some(patience)), ms) {
                eprintln!(
                    "kafkabi: a consumer was freed without a close: {}",
                    error.message
                );
            }
        };
        if threads::spawn("kafkabi-free", move || finish(&theirs, GOODBYE)).is_err() {
            finish(&cell, Duration::ZERO);
        }
    }
}

impl Core {
    /// Commits what is handled, if commits are automatic.
    fn save_handled(&self, deadline: Option<Instant>, timeout_ms: i32) -> Result<()> {
        if !self.auto_commit || !self.has_group {
            return Ok(());
        }
        let patience = Instant::now() + REBALANCE;
        let mut repeats = 0;
        let result = loop {
            let result = self.commit(None, deadline, timeout_ms, || Ok(())).result;
            let between = remaining_up_to(deadline, SLICE);
            match &result {
                Err(e)
                    if matches!(
                        e.code,
                        KABI_STATUS_REBALANCE_IN_PROGRESS | KABI_STATUS_ILLEGAL_GENERATION
                    ) && !between.is_zero()
                        && (repeats < REPEATS || Instant::now() < patience) =>
                {
                    repeats += 1;
                    // Nothing tells when the group is done.
                    std::thread::sleep(between);
                }
                _ => break result,
            }
        };
        match result {
            Ok(()) => Ok(()),
            Err(e) if e.code == KABI_STATUS_NO_OFFSET => Ok(()),
            Err(e) => Err(Error {
                message: format!(
                    "close: offsets of handled records are not saved: {}",
                    e.message
                ),
                ..e
            }),
        }
    }

    fn leave_group(&self, deadline: Option<Instant>, timeout_ms: i32) -> Result<()> {
        let Some(queue) = self.client.private_queue() else {
            return Err(Error::system("making a queue"));
        };
        // One that the program did not come to apply would hold the group's goodbye up.
        self.apply();
        // Asked for now: librdkafka never answers a question that crosses the end of its group.
        let cooperative = self.client.is_cooperative();
        self.client.close_consumer(&queue)?;
        let mut answered = false;
        let mut doubt = Doubt::new();
        while !self.client.is_consumer_closed() && !self.denial.is_stuck() {
            if self.has_group {
                doubt.look(self, &queue);
            }
            let slice = remaining_up_to(deadline, SLICE);
            match queue.poll(Some(slice)) {
                Some(event) if event.kind() == EventKind::Rebalance => {
                    // A revocation is what the goodbye waits for. Anything else may be from before it, and
                    // then the group may come to its end any moment, with the same consequence.
                    if (answered || !is_revocation(&event)) && self.closes_by_itself(deadline) {
                        continue;
                    }
                    self.answer(&event, cooperative);
                    answered = true;
                }
                Some(event) if event.kind() == EventKind::Answer && self.learn_of_group(&event) => {
                    self.denial.set_stuck();
                }
                Some(_) => {}
                None if slice.is_zero() => {
                    return Err(Error::timed_out("close: leaving the group", timeout_ms));
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Whether the group's end comes within a moment without an answer.
    fn closes_by_itself(&self, deadline: Option<Instant>) -> bool {
        let end = Instant::now() + remaining_up_to(deadline, SLICE);
        while Instant::now() < end {
            if self.client.is_consumer_closed() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        self.client.is_consumer_closed()
    }

    /// The last changes of the assignment are asked for as events.
    fn answer(&self, event: &Event, cooperative: bool) {
        let Some(list) = event.partitions() else {
            return;
        };
        // While the group is left librdkafka takes each of these for giving all partitions back.
        let applied = match (is_revocation(event), cooperative) {
            (true, true) => self.client.incremental_unassign(&list),
            (true, false) => self.client.assign(None),
            (false, true) => self.client.incremental_assign(&list),
            (false, false) => self.client.assign(Some(&list)),
        };
        // If it is refused, the group is left already.
        drop(applied);
        if list.is_empty() || !is_revocation(event) {
            return;
        }
        let keys = self.keys(&list);
        let generation = self.tracking.with(|state| {
            state.generation += 1;
            state.generation
        });
        let change = match self.client.is_assignment_lost() {
            true => Change::Lost,
            false => Change::Revoke,
        };
        self.events
            .push_change(told(change, &list, &keys, generation));
    }
}

fn is_revocation(event: &Event) -> bool {
    event.code() == KABI_STATUS_REVOKE_PARTITIONS
}
