//! Looking up host names, for librdkafka. The C library's getaddrinfo holds locks that it does not give
//! back in a forked child (glibc's list of interfaces), so that a child forked at that moment could never
//! connect to anything. A fork therefore waits until no thread of librdkafka is in there, but not for
//! long: a name server may be silent for half a minute.

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

const FORK_WAITS: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_micros(200);

/// How many threads are inside of getaddrinfo. Atomics, not a lock, since a child must be able to begin
/// anew; who has to wait does so only around a fork, so it may look now and then.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
static FORKS_GOING_ON: AtomicUsize = AtomicUsize::new(0);

pub(super) fn before_fork() {
    FORKS_GOING_ON.fetch_add(1, SeqCst);
    let deadline = Instant::now() + FORK_WAITS;
    while INSIDE.load(SeqCst) > 0 && Instant::now() < deadline {
        std::thread::sleep(LOOK);
    }
}

pub(super) fn after_fork() {
    FORKS_GOING_ON.fetch_sub(1, SeqCst);
}

pub(super) fn after_fork_in_child() {
    FORKS_GOING_ON.store(0, SeqCst);
    INSIDE.store(0, SeqCst);
}

struct Inside(());

impl Inside {
    fn enter() -> Inside {
        loop {
            INSIDE.fetch_add(1, SeqCst);
            let inside = Inside(());
            if FORKS_GOING_ON.load(SeqCst) == 0 {
                return inside;
            }
            drop(inside);
            std::thread::sleep(LOOK);
        }
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, SeqCst);
    }
}

/// librdkafka's resolve callback, on its own threads: looks up, or frees what was found when both names
/// are NULL.
pub(super) unsafe extern "C" fn resolve(
    node: *const c_char,
    service: *const c_char,
    hints: *const libc::addrinfo,
    found: *mut *mut libc::addrinfo,
    _opaque: *mut c_void,
) -> c_int {
    if node.is_null() && service.is_null() {
        // SAFETY: librdkafka gives back what the call below wrote.
        unsafe { libc::freeaddrinfo(*found) };
        return 0;
    }
    let _inside = Inside::enter();
    // SAFETY: librdkafka's arguments are those of getaddrinfo.
    unsafe { libc::getaddrinfo(node, service, hints, found) }
}
