//! The queue of records, and the way to call a poll away from it.

use crate::rd::queue::Queue;
use std::sync::atomic::{AtomicU64, Ordering};

/// A ring ends a wait on the queue. The count tells a poll of one that came while it was looking without
/// waiting, which eats the ring.
pub struct Bell {
    pub queue: Queue,
    rings: AtomicU64,
}

impl Bell {
    pub fn new(queue: Queue) -> Bell {
        Bell {
            queue,
            rings: AtomicU64::new(0),
        }
    }

    pub fn ring(&self) {
        self.rings.fetch_add(1, Ordering::SeqCst);
        self.queue.wake();
    }

    pub fn rings(&self) -> u64 {
        self.rings.load(Ordering::SeqCst)
    }
}
