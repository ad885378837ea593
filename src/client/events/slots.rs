//! Back-pressure. Each accepted record whose report is wanted takes a slot, given back when the report is
//! drained, so the reports that wait are bounded by the slots and the service thread never has to wait
//! for a reader. Who finds no slot, or finds librdkafka's own queue full, may wait here for space.

use crate::client::lifetime::{deadline_of, lock, remaining, wait_until};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

pub struct Slots {
    total: i64,
    free: AtomicI64,
    waiters: AtomicUsize,
    news: Mutex<u64>,
    changed: Condvar,
}

impl Slots {
    pub fn new(count: usize) -> Slots {
        let total = i64::try_from(count).unwrap_or(i64::MAX);
        Slots {
            total,
            free: AtomicI64::new(total),
            waiters: AtomicUsize::new(0),
            news: Mutex::new(0),
            changed: Condvar::new(),
        }
    }

    pub fn total(&self) -> i64 {
        self.total
    }

    /// How many are free; for a moment too few while somebody takes too many.
    pub fn free(&self) -> i64 {
        self.free.load(Ordering::Relaxed).clamp(0, self.total)
    }

    /// Takes up to `wanted` slots; how many it got.
    #[inline]
    pub fn take(&self, wanted: usize) -> usize {
        let want = i64::try_from(wanted).unwrap_or(i64::MAX);
        let before = self.free.fetch_sub(want, Ordering::SeqCst);
        if before >= want {
            return wanted;
        }
        let got = before.clamp(0, want);
        self.free.fetch_add(want - got, Ordering::SeqCst);
        usize::try_from(got).unwrap_or(0)
    }

    /// Gives slots back that could not be used because librdkafka's queue is full. That is no news: who waits would find
    /// the queue full as well (whoever gives back would wake itself, over and over), and the reports of what fills
    /// it will be.
    pub fn give_back(&self, count: usize) {
        self.free
            .fetch_add(i64::try_from(count).unwrap_or(0), Ordering::SeqCst);
    }

    /// Gives slots back that were drained or not used.
    #[inline]
    pub fn give(&self, count: usize) {
        if count > 0 {
            self.give_back(count);
            self.notify();
        }
    }

    /// Something that a waiter may wait for has happened: slots, space in librdkafka's queue, a wake or
    /// a close.
    #[inline]
    pub fn notify(&self) {
        // The waiter counts itself before it looks whether there is space; we make space before we
        // look for waiters. One of the two sees the other.
        if self.waiters.load(Ordering::SeqCst) > 0 {
            *lock(&self.news) += 1;
            self.changed.notify_all();
        }
    }

    /// Repeats `attempt` until it gives a result, waiting for news between two attempts, or for `recheck`
    /// where there is no news of space. `None` when the time is up.
    pub fn wait<T>(
        &self,
        deadline: Option<Instant>,
        recheck: Option<Duration>,
        mut attempt: impl FnMut() -> Option<T>,
    ) -> Option<T> {
        let _waiter = Waiter::of(&self.waiters);
        loop {
            let seen = *lock(&self.news);
            if let Some(result) = attempt() {
                return Some(result);
            }
            let look_again = deadline_of(recheck);
            let mut news = lock(&self.news);
            while *news == seen && remaining(look_again) != Some(Duration::ZERO) {
                let until = match (deadline, look_again) {
                    (Some(d), Some(l)) => Some(d.min(l)),
                    (d, l) => d.or(l),
                };
                news = wait_until(&self.changed, news, until).0;
                if remaining(deadline) == Some(Duration::ZERO) {
                    return None;
                }
            }
        }
    }
}

struct Waiter<'a>(&'a AtomicUsize);

impl<'a> Waiter<'a> {
    fn of(count: &'a AtomicUsize) -> Waiter<'a> {
        count.fetch_add(1, Ordering::SeqCst);
        Waiter(count)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}
