//! How a consumer ends: what was handled is committed, the group is left, and nothing of the batch in
//! hand is stored. All of it within the time-out, whatever the brokers do.

use super::{Consumer, Core, SLICE};
use crate::client::lifetime::{deadline_of, lock, remaining_up_to};
use crate::error::{Error, Result};
use crate::rd::queue::{Event, EventKind};
use crate::rd::signals;
use crate::status::KABI_STATUS_NO_OFFSET;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a consumer that was freed without a close may take to say goodbye, in the background.
const GOODBYE: Duration = Duration::from_secs(10);

impl Consumer {
    /// Ends the consumer, with no other call inside.
    pub fn finish(self, deadline: Option<Instant>, timeout_ms: i32) -> Result<()> {
        let saved = self.core.save_handled(deadline, timeout_ms);
        let left = match &saved {
            Ok(()) => self.core.leave_group(deadline, timeout_ms),
            // The coordinator does not answer: leaving would wait for it as well. The group notices
            // by itself when the session time-out is over.
            Err(_) => Ok(()),
        };
        // Whatever else librdkafka has to say while it ends is of no use any more, and batches that are
        // still held may put the end off.
        self.core.events.finish();
        let control = Arc::clone(&self.core.control);
        let ends_now = self.core.batches.load(Ordering::SeqCst) == 0;
        control.stop();
        self.core.main_queue.wake();
        drop(self);
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
        if signals::spawn("kafkabi-free", move || finish(&theirs, GOODBYE)).is_err() {
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
        match self.commit(None, deadline, timeout_ms, || Ok(())).result {
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
        // Asked now: once the group is left, nobody answers.
        let cooperative = self.client.is_cooperative();
        self.client.close_consumer(&queue)?;
        while !self.client.is_consumer_closed() {
            let slice = remaining_up_to(deadline, SLICE);
            if let Some(event) = queue.poll(Some(slice)) {
                self.answer(&event, cooperative);
            } else if slice.is_zero() {
                return Err(Error::timed_out("close: leaving the group", timeout_ms));
            }
        }
        Ok(())
    }

    /// The last revocation is asked for as an event. Records that come along are dropped.
    fn answer(&self, event: &Event, cooperative: bool) {
        if event.kind() != EventKind::Rebalance {
            return;
        }
        let applied = match event.partitions() {
            Some(list) if cooperative && !list.is_empty() => {
                self.client.incremental_unassign(&list)
            }
            _ => self.client.assign(None),
        };
        // If it is refused, the group is left already.
        drop(applied);
    }
}
