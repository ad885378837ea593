//! How a client ends. Its service thread holds the client's core until nobody else does, and destroys it
//! there, so that no thread of the program ever waits for librdkafka's threads, and a client that can't
//! be destroyed yet (live batches, a call still inside) delays no other.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, Weak};
use std::time::{Duration, Instant};

/// Locks, whatever a panicking thread left behind: all state under these locks is valid at every step.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Waits on a condition until `deadline` (`None`: for ever). False when the time is up.
pub fn wait_until<'a, T>(
    condvar: &Condvar,
    guard: MutexGuard<'a, T>,
    deadline: Option<Instant>,
) -> (MutexGuard<'a, T>, bool) {
    match remaining(deadline) {
        None => (condvar.wait(guard).unwrap_or_else(|p| p.into_inner()), true),
        Some(Duration::ZERO) => (guard, false),
        Some(left) => {
            let (guard, _) = condvar
                .wait_timeout(guard, left)
                .unwrap_or_else(|p| p.into_inner());
            (guard, true)
        }
    }
}

/// The deadline of a call with this time-out. One too far to be told apart from "never" is none.
pub fn deadline_of(timeout: Option<Duration>) -> Option<Instant> {
    timeout.and_then(|t| Instant::now().checked_add(t))
}

/// What is left of the time (`None`: for ever).
pub fn remaining(deadline: Option<Instant>) -> Option<Duration> {
    deadline.map(|d| d.saturating_duration_since(Instant::now()))
}

/// What is left of the time, but at most `slice`.
pub fn remaining_up_to(deadline: Option<Instant>, slice: Duration) -> Duration {
    remaining(deadline).map_or(slice, |left| left.min(slice))
}

/// What works on top of a client and has to let go of it before it can end.
pub trait Attached: Send + Sync {
    /// The client stops. Called once, on the thread that closes it, without a lock held.
    fn client_stops(&self);
}

/// Tells a client's service thread to stop, and others that it has ended.
#[derive(Default)]
pub struct Control {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    stopping: bool,
    finished: bool,
    ended: bool,
    attached: Vec<Weak<dyn Attached>>,
}

impl Control {
    /// The service thread is to end. The caller wakes it.
    pub fn stop(&self) {
        let attached = {
            let mut state = lock(&self.state);
            state.stopping = true;
            std::mem::take(&mut state.attached)
        };
        self.changed.notify_all();
        for attached in attached.iter().filter_map(Weak::upgrade) {
            attached.client_stops();
        }
    }

    /// Takes in what is to be told when the client stops. False if it stops already.
    pub fn attach(&self, attached: Weak<dyn Attached>) -> bool {
        let mut state = lock(&self.state);
        if !state.stopping {
            state.attached.retain(|a| a.strong_count() > 0);
            state.attached.push(attached);
        }
        !state.stopping
    }

    pub fn is_stopping(&self) -> bool {
        lock(&self.state).stopping
    }

    /// Waits until nobody but the caller holds the core.
    pub fn wait_for_sole<T>(&self, core: &Arc<T>) {
        let mut state = lock(&self.state);
        while Arc::strong_count(core) > 1 {
            state = wait_until(&self.changed, state, None).0;
        }
    }

    pub fn set_finished(&self) {
        lock(&self.state).finished = true;
        self.changed.notify_all();
    }

    /// Waits until the service thread has put the last event in.
    pub fn wait_for_last_event(&self, deadline: Option<Instant>) {
        let mut state = lock(&self.state);
        while !state.finished {
            let (next, in_time) = wait_until(&self.changed, state, deadline);
            state = next;
            if !in_time {
                return;
            }
        }
    }

    pub fn set_ended(&self) {
        lock(&self.state).ended = true;
        self.changed.notify_all();
    }

    /// Waits until the service thread has destroyed everything. False when the time is up.
    pub fn wait_for_end(&self, deadline: Option<Instant>) -> bool {
        let mut state = lock(&self.state);
        while !state.ended {
            let (next, in_time) = wait_until(&self.changed, state, deadline);
            state = next;
            if !in_time {
                return state.ended;
            }
        }
        true
    }
}

/// A hold on a core. Dropping it lets the service thread look whether it is alone now: first the hold
/// goes, then the news, which is the order of the fields.
pub struct Held<T> {
    core: Arc<T>,
    news: News,
}

struct News(Arc<Control>);

impl<T> Held<T> {
    pub fn new(core: Arc<T>, control: Arc<Control>) -> Held<T> {
        Held {
            core,
            news: News(control),
        }
    }
}

impl<T> std::ops::Deref for Held<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.core
    }
}

impl<T> Clone for Held<T> {
    fn clone(&self) -> Self {
        Held {
            core: Arc::clone(&self.core),
            news: News(Arc::clone(&self.news.0)),
        }
    }
}

impl Drop for News {
    fn drop(&mut self) {
        // The waiter counts the holders under this lock, so it can't miss the news.
        let _state = lock(&self.0.state);
        self.0.changed.notify_all();
    }
}
