//! Forks: a child has only the thread that forked, so a lock that another thread held at that moment
//! stays locked in the child for good. Locks of ours and of librdkafka that a child needs to make clients
//! are therefore taken by the forking thread before the fork, and given back on both sides.
//!
//! What is left are locks inside of other libraries that librdkafka's threads use while they connect. The C
//! library looks after its own (malloc, stdio, the loader) but for those of getaddrinfo, which `resolve`
//! does; OpenSSL's are held for moments only and can't be reached.

use super::resolve;
use crate::error::Error;
use crate::status::KABI_STATUS_SYSTEM;
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// One a process: whoever makes something that a fork must not cut in half.
struct Making(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: a mutex is made to be used by several threads; it is only written as a whole in a forked child,
// which has one thread.
unsafe impl Sync for Making {}

/// Recursive, so that a thread that forks while it makes a client (a plug-in may) does not wait for
/// itself.
static MAKING: Making = Making(UnsafeCell::new(
    libc::PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
));

extern "C" {
    /// librdkafka's only lock that belongs to no client (rdkafka.c): the count of clients.
    static mut rd_kafka_global_lock: libc::pthread_mutex_t;
}

/// As long as this is held no fork happens in another thread.
pub struct Whole(());

impl Whole {
    pub fn begin() -> Whole {
        // SAFETY: the mutex is initialized, and lives for ever.
        unsafe { libc::pthread_mutex_lock(MAKING.0.get()) };
        Whole(())
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        // SAFETY: locked by this thread in `begin`. In a child that was forked meanwhile it is not, which
        // is an error without effect.
        unsafe { libc::pthread_mutex_unlock(MAKING.0.get()) };
    }
}

unsafe extern "C" fn before() {
    // SAFETY: both live for ever; librdkafka initialized its own before this handler was registered.
    // rd_kafka_new takes them in this order too.
    unsafe { libc::pthread_mutex_lock(MAKING.0.get()) };
    resolve::before_fork();
    // SAFETY: as above.
    unsafe { libc::pthread_mutex_lock(&raw mut rd_kafka_global_lock) };
}

unsafe extern "C" fn after() {
    resolve::after_fork();
    // SAFETY: locked by this thread in `before`.
    unsafe {
        libc::pthread_mutex_unlock(&raw mut rd_kafka_global_lock);
        libc::pthread_mutex_unlock(MAKING.0.get());
    }
}

/// What the program's layers have to do in a child: only stores to atomics.
type InChild = fn();
static IN_CHILD: std::sync::OnceLock<InChild> = std::sync::OnceLock::new();

unsafe extern "C" fn after_in_child() {
    resolve::after_fork_in_child();
    // SAFETY: as in `after`. The recursive mutex belongs to a thread of the parent by its number, so
    // that it is made anew: the child has no other thread that could use it.
    unsafe {
        libc::pthread_mutex_unlock(&raw mut rd_kafka_global_lock);
        MAKING
            .0
            .get()
            .write(libc::PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP);
    }
    if let Some(tell) = IN_CHILD.get() {
        tell();
    }
}

/// From now on forks are watched. A fork in another thread during the first call is not.
pub fn watch(in_child: InChild) -> Result<(), Error> {
    static WATCHING: AtomicBool = AtomicBool::new(false);
    if WATCHING.load(Ordering::Acquire) {
        return Ok(());
    }
    let _whole = Whole::begin();
    if WATCHING.load(Ordering::Acquire) {
        return Ok(());
    }
    // librdkafka initializes its lock with the first configuration.
    drop(super::conf::Conf::new()?);
    let _ = IN_CHILD.set(in_child);
    // SAFETY: the handlers do what is allowed there: they lock, unlock and store.
    match unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after_in_child)) } {
        0 => {
            WATCHING.store(true, Ordering::Release);
            Ok(())
        }
        code => Err(Error::new(
            KABI_STATUS_SYSTEM,
            format!(
                "pthread_atfork: {}",
                std::io::Error::from_raw_os_error(code)
            ),
        )),
    }
}
