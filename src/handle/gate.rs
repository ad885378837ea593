//! Where closing calls wait for the calls inside to leave. One place for the whole table, since
//! closing is rare.
//!
//! The lock is behind a pointer so that a forked child can leave it behind: another thread of the
//! parent may have held it at the moment of the fork, and would hold it in the child for ever.

use std::ptr;
use std::sync::PoisonError;
use std::time::Instant;

use super::sync::{const_unless_loom, AtomicPtr, Condvar, Mutex, Ordering::SeqCst};

pub struct Gate {
    room: AtomicPtr<Room>,
}

struct Room {
    lock: Mutex<()>,
    somebody_left: Condvar,
}

impl Gate {
    const_unless_loom! {
        pub fn new() -> Self {
            Self { room: AtomicPtr::new(ptr::null_mut()) }
        }
    }

    /// Waits until `condition` holds, which must be made true before [`Gate::notify`] is called.
    /// False when the deadline came first.
    pub fn wait_until(&self, deadline: Option<Instant>, condition: impl Fn() -> bool) -> bool {
        // The room is there before the condition is looked at: a notifier that doesn't find it came
        // too early to be missed.
        let room = self.room();
        let mut held = room.lock.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if condition() {
                return true;
            }
            held = match deadline {
                None => room
                    .somebody_left
                    .wait(held)
                    .unwrap_or_else(PoisonError::into_inner),
                Some(deadline) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return false;
                    }
                    let woken = room.somebody_left.wait_timeout(held, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    /// Makes every waiting call look at its condition again.
    pub fn notify(&self) {
        let room = self.room.load(SeqCst);
        if room.is_null() {
            return;
        }
        // SAFETY: a room lives as long as the gate, or for ever once it was abandoned.
        let room = unsafe { &*room };
        // Under the lock, so that nobody is between looking at the condition and going to sleep.
        let held = room.lock.lock().unwrap_or_else(PoisonError::into_inner);
        room.somebody_left.notify_all();
        drop(held);
    }

    /// Leaves the lock to the parent's threads (see above); the next call to wait makes a new one.
    /// Async-signal-safe.
    pub fn abandon(&self) {
        self.room.store(ptr::null_mut(), SeqCst);
    }

    fn room(&self) -> &Room {
        let mut room = self.room.load(SeqCst);
        if room.is_null() {
            let made = Box::into_raw(Box::new(Room {
                lock: Mutex::new(()),
                somebody_left: Condvar::new(),
            }));
            room = match self
                .room
                .compare_exchange(ptr::null_mut(), made, SeqCst, SeqCst)
            {
                Ok(_) => made,
                Err(theirs) => {
                    // SAFETY: made above and never shared.
                    drop(unsafe { Box::from_raw(made) });
                    theirs
                }
            };
        }
        // SAFETY: not null, and a room lives as long as the gate.
        unsafe { &*room }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let room = self.room.load(SeqCst);
        if !room.is_null() {
            // SAFETY: came from Box::into_raw, and nobody can be in it while the gate is dropped.
            drop(unsafe { Box::from_raw(room) });
        }
    }
}
