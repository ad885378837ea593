//! What happened to a client's events and records since it was made. Counted once a batch or once an
//! event, never in a loop over records.

use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Default)]
pub struct Count(AtomicU64);

impl Count {
    #[inline]
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Default)]
pub struct Counts {
    /// Records that were sent without an error.
    pub accepted: Count,
    /// Reports of success.
    pub delivered: Count,
    /// Reports of failure, seen by the program or not.
    pub failed: Count,
    /// Errors that belong to no call, merged or not, wanted or not.
    pub errors: Count,
    /// Events that were handed over.
    pub drained: Count,
}
