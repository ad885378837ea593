//! Questions to brokers that librdkafka does not let us cut short: a thread of their own asks, and the
//! caller waits as long as it wants to.

use super::{Consumer, Core, SLICE};
use crate::client::lifetime::{deadline_of, lock, remaining, remaining_up_to, wait_until, Held};
use crate::client::threads;
use crate::error::{Error, Result};
use crate::status::KABI_STATUS_TIMED_OUT;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// One question takes at most so long before it is asked again: so long may one that nobody waits for any
/// more keep a closed consumer alive.
const ASK_MAX: Duration = Duration::from_secs(10);

struct Question<T> {
    answer: Mutex<Option<Result<T>>>,
    answered: Condvar,
}

/// What a broker says that does not lead the partition any more, or not yet: LEADER_NOT_AVAILABLE,
/// NOT_LEADER_FOR_PARTITION, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH.
const LEADER_MOVED: [i32; 4] = [5, 6, 74, 75];
/// How soon to ask again after that.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl Consumer {
    /// Asks by `body`, which is given how long it may take, until there is an answer or the time is up.
    pub(super) fn aside<T: Send + 'static>(
        &self,
        doing: &'static str,
        timeout: Option<Duration>,
        timeout_ms: i32,
        mut body: impl FnMut(&Core, Duration) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let wakes = self.core.wakes.load(Ordering::SeqCst);
        let deadline = deadline_of(timeout);
        let question = Arc::new(Question {
            answer: Mutex::new(None),
            answered: Condvar::new(),
        });
        let (theirs, core): (_, Held<Core>) = (Arc::clone(&question), self.core.clone());
        let spawned = threads::spawn("kafkabi-ask", move || {
            let outcome = loop {
                let left = remaining_up_to(deadline, ASK_MAX);
                let outcome = body(&core, left);
                let unanswered = matches!(&outcome, Err(e) if e.code == KABI_STATUS_TIMED_OUT);
                let moved = matches!(&outcome, Err(e) if LEADER_MOVED.contains(&e.code));
                let time_left = remaining(deadline).is_none_or(|left| !left.is_zero());
                // Two hold it while somebody waits.
                if !(unanswered || moved) || !time_left || Arc::strong_count(&theirs) < 2 {
                    break outcome;
                }
                if moved {
                    // librdkafka asks for the new leader now; there is no event for the answer.
                    std::thread::sleep(remaining_up_to(deadline, LOOK_AGAIN));
                }
            };
            drop(core);
            *lock(&theirs.answer) = Some(outcome);
            theirs.answered.notify_all();
        });
        spawned.map_err(|_| Error::system("starting a thread"))?;
        let mut answer = lock(&question.answer);
        loop {
            if let Some(outcome) = answer.take() {
                return outcome;
            }
            self.core.go_on(wakes, doing)?;
            if remaining(deadline).is_some_and(|left| left.is_zero()) {
                return Err(Error::timed_out(doing, timeout_ms));
            }
            let slice = Instant::now() + remaining_up_to(deadline, SLICE);
            answer = wait_until(&question.answered, answer, Some(slice)).0;
        }
    }
}
