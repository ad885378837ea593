//! Threads of the library block every signal, so that a signal meant for the program never runs its
//! handler on a thread the program does not know. A thread inherits the mask of its creator, so the
//! creator blocks all signals around the creation and puts its own mask back.

use std::mem::MaybeUninit;
use std::thread::JoinHandle;

/// All signals are blocked on this thread until it is dropped.
pub struct Blocked {
    before: libc::sigset_t,
}

impl Blocked {
    pub fn new() -> Blocked {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::uninit();
        // SAFETY: sigfillset fills `all` and pthread_sigmask fills `before`; with these arguments
        // neither can fail.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
            Blocked { before: before.assume_init() }
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: `before` was filled by pthread_sigmask.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.before, std::ptr::null_mut()) };
    }
}

/// Starts a thread of the library: all signals blocked. The creating export has already put the default
/// floating-point environment in place, which the thread inherits as well.
pub fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
    let _blocked = Blocked::new();
    std::thread::Builder::new().name(name.to_owned()).spawn(body)
}
