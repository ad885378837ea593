//! The library's threads. Each is counted from its start until nothing of it is left, so that a shutdown can
//! wait for exactly that: a thread that ends leaves its handle for the next one that does, which joins it,
//! and the last one's is joined by the shutdown. So at most one waits to be joined at any time.

use super::lifetime::{lock, wait_until};
use crate::rd::signals;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::Instant;

/// How many threads have not ended.
static RUNNING: AtomicUsize = AtomicUsize::new(0);
static FORKS: AtomicUsize = AtomicUsize::new(0);

/// A lock may be held by another thread at the moment of a fork, and then stays locked in the child for
/// good, so each generation of forks has its own.
static ENDINGS: [Ending; 64] = [const { Ending::new() }; 64];

struct Ending {
    /// The thread that ended last, and in which generation.
    last: Mutex<Option<(usize, JoinHandle<()>)>>,
    /// One has ended.
    changed: Condvar,
}

impl Ending {
    const fn new() -> Ending {
        Ending {
            last: Mutex::new(None),
            changed: Condvar::new(),
        }
    }

    fn now() -> &'static Ending {
        let [first, ..] = &ENDINGS;
        ENDINGS
            .get(FORKS.load(Ordering::SeqCst) % ENDINGS.len())
            .unwrap_or(first)
    }

    /// Puts a thread in the place of the one before it, which is joined.
    fn replace(&self, next: Option<JoinHandle<()>>) {
        let generation = FORKS.load(Ordering::SeqCst);
        let next = next.map(|handle| (generation, handle));
        let before = std::mem::replace(&mut *lock(&self.last), next);
        match before {
            // All it has to do yet is to go. That it panicked was told by its own message.
            Some((made, handle)) if made == generation => drop(handle.join()),
            // A thread of an ancestor's, which this process does not have.
            Some((_, handle)) => std::mem::forget(handle),
            None => {}
        }
    }
}

/// To be called in a forked child before anything else: the parent's threads are not there. Only stores
/// to atomics.
pub fn after_fork() {
    FORKS.fetch_add(1, Ordering::SeqCst);
    RUNNING.store(0, Ordering::SeqCst);
}

/// Starts a thread, with all signals blocked.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    let running = Running::begin();
    let place: Arc<Mutex<Option<JoinHandle<()>>>> = Arc::default();
    let own = Arc::clone(&place);
    // Held until the handle is in its place: the thread may be at its end before.
    let mut handle = lock(&place);
    *handle = Some(signals::spawn(name, move || {
        let _end = End { own, running };
        body();
    })?);
    Ok(())
}

/// The end of a thread, by a panic as well: the one before it is joined, then it counts no more.
struct End {
    own: Arc<Mutex<Option<JoinHandle<()>>>>,
    #[allow(dead_code)] // for its drop, after ours
    running: Running,
}

impl Drop for End {
    fn drop(&mut self) {
        let own = lock(&self.own).take();
        Ending::now().replace(own);
    }
}

/// Counts a thread, from before it starts.
struct Running {
    generation: usize,
}

impl Running {
    fn begin() -> Running {
        RUNNING.fetch_add(1, Ordering::SeqCst);
        Running {
            generation: FORKS.load(Ordering::SeqCst),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.generation != FORKS.load(Ordering::SeqCst) {
            return; // counted in the parent
        }
        RUNNING.fetch_sub(1, Ordering::SeqCst);
        let ending = Ending::now();
        let _guard = lock(&ending.last);
        ending.changed.notify_all();
    }
}

/// Waits until all threads are gone. Otherwise how many are left when the time is up.
pub fn wait_for_all(deadline: Option<Instant>) -> Result<(), usize> {
    let ending = Ending::now();
    let mut guard = lock(&ending.last);
    loop {
        let left = RUNNING.load(Ordering::SeqCst);
        if left == 0 {
            break;
        }
        let (next, in_time) = wait_until(&ending.changed, guard, deadline);
        guard = next;
        if !in_time {
            return Err(left);
        }
    }
    drop(guard);
    ending.replace(None);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::time::Duration;

    /// What a thread does at its very end, when its body is long over.
    struct AtTheEnd(Arc<AtomicUsize>);

    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            std::thread::sleep(Duration::from_millis(100));
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    thread_local!(static LEFT: RefCell<Option<AtTheEnd>> = const { RefCell::new(None) });

    #[test]
    fn nothing_of_a_thread_is_left_after_the_wait() {
        let gone = Arc::new(AtomicUsize::new(0));
        for round in 1..=3 {
            for number in 0..4 {
                let theirs = AtTheEnd(Arc::clone(&gone));
                let body = move || {
                    LEFT.with(|left| *left.borrow_mut() = Some(theirs));
                    assert_ne!(number, 3, "a thread that panics ends as well");
                };
                spawn("kafkabi-test", body).expect("a thread");
            }
            let patience = Instant::now() + Duration::from_secs(60);
            wait_for_all(Some(patience)).expect("all end");
            assert_eq!(gone.load(Ordering::SeqCst), 4 * round);
        }
    }

    #[test]
    fn who_does_not_end_is_counted() {
        let go = Arc::new(Mutex::new(()));
        let (held, theirs) = (lock(&go), Arc::clone(&go));
        spawn("kafkabi-test", move || drop(lock(&theirs))).expect("a thread");
        let left = wait_for_all(Some(Instant::now() + Duration::from_millis(50)));
        assert!(left.is_err_and(|left| left >= 1));
        drop(held);
    }
}
