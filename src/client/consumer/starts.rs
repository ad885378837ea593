//! That assigned partitions begin to be read. Where is what the group has committed, which librdkafka asks the group's
//! coordinator for once: when that is refused, as by a coordinator that has just moved, it tells of the error and leaves
//! the partitions assigned and never read. So after an error the coordinator is asked again about those that have not
//! begun: by the service thread when a poll was told of it, and by a seek that waits for a beginning.

use super::Core;
use crate::client::lifetime::lock;
use crate::error::flags_of;
use crate::rd::received::Received;
use crate::record::KABI_ERROR_RETRIABLE;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// How long after an error the coordinator is asked again; it may be on the move.
const PAUSE: Duration = Duration::from_millis(500);

/// When the service thread is to do so.
#[derive(Default)]
pub(super) struct Starts(Mutex<Option<Instant>>);

/// Counts the time of a wait for a partition to begin, which nobody polls beside; has the coordinator asked when it is
/// long, more and more seldom: an answer may be on its way.
pub(super) struct Impatience {
    at: Instant,
    wait: Duration,
}

impl Impatience {
    pub fn new() -> Impatience {
        Impatience {
            at: Instant::now() + PAUSE,
            wait: PAUSE,
        }
    }

    pub fn look(&mut self, core: &Core) {
        let now = Instant::now();
        if now >= self.at {
            self.wait *= 2;
            self.at = now + self.wait;
            core.client.ask_committed_again();
        }
    }
}

impl Core {
    /// A poll was told of an error. It may be that of the question where partitions begin, which is asked again; of no
    /// partition and passing, it is an event and nothing for the program to read.
    pub(super) fn gets_over(&self, message: &Received) -> bool {
        let (code, of_no_topic) = (message.code(), message.partition().0 < 0);
        let passing = flags_of(code) & KABI_ERROR_RETRIABLE != 0;
        if of_no_topic || passing {
            lock(&self.starts.0).get_or_insert_with(|| Instant::now() + PAUSE);
            // The service thread counts the time from now on.
            self.main_queue.wake();
        }
        if of_no_topic && passing {
            let text = String::from_utf8_lossy(message.value().unwrap_or_default());
            self.events.push_error(code, flags_of(code), text.into());
        }
        of_no_topic && passing
    }

    /// On the service thread: looks if it is time, and tells when it will be.
    pub(super) fn look_for_starts(&self) -> Option<Duration> {
        let left = {
            let mut at = lock(&self.starts.0);
            let left = (*at)?.saturating_duration_since(Instant::now());
            if left.is_zero() {
                *at = None;
            }
            left
        };
        if !left.is_zero() {
            return Some(left);
        }
        self.client.ask_committed_again();
        None
    }
}
