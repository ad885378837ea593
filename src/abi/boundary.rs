//! The one way in: every export runs its body through `call` (or `quiet`, for those that cannot fail).
//! Here panics stop, the caller's floating-point environment and errno are kept, and an `Error` becomes
//! a status and, where the caller wants it, a filled `kabi_error_t`.

use crate::rd::float;
use crate::error::{Error, Result};
use crate::record::{kabi_error_t, kabi_status_t, KABI_ERROR_MESSAGE_SIZE};
use crate::status::{KABI_STATUS_OK, KABI_STATUS_PANIC};
use std::any::Any;
use std::ffi::c_char;
use std::panic::{catch_unwind, AssertUnwindSafe};

/// Runs the body of a fallible export.
#[inline]
pub fn call(error: *mut kabi_error_t, body: impl FnOnce() -> Result<()>) -> kabi_status_t {
    let errno = Errno::keep();
    let floats = float::Default::enter();
    let outcome = catch_unwind(AssertUnwindSafe(body));
    let status = match outcome {
        Ok(Ok(())) => KABI_STATUS_OK,
        Ok(Err(failure)) => fill(error, &failure),
        Err(panic) => fill(error, &of_panic(panic)),
    };
    drop(floats);
    drop(errno);
    status
}

/// Runs the body of an export that cannot fail. A panic inside gives `fallback`.
#[inline]
pub fn quiet<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    let errno = Errno::keep();
    let floats = float::Default::enter();
    let outcome = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        // The payload's own destructor may panic as well: leak it.
        std::mem::forget(panic);
        fallback
    });
    drop(floats);
    drop(errno);
    outcome
}

#[cold]
fn of_panic(panic: Box<dyn Any + Send>) -> Error {
    let text = panic
        .downcast_ref::<&str>()
        .map(|s| (*s).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    std::mem::forget(panic);
    Error::new(
        KABI_STATUS_PANIC,
        format!("a fault inside kafkabi was caught, please report it: {text}"),
    )
}

#[cold]
fn fill(error: *mut kabi_error_t, failure: &Error) -> kabi_status_t {
    if error.is_null() || !error.is_aligned() {
        return failure.code;
    }
    // SAFETY: not NULL and aligned; by the contract of every export it then points at the caller's
    // kabi_error_t, whose size field says whether it really is one of this ABI.
    unsafe {
        if usize::try_from((*error).size) != Ok(size_of::<kabi_error_t>()) {
            return failure.code;
        }
        (*error).code = failure.code;
        (*error).flags = failure.flags;
        (*error).reserved = 0;
        write_message(&mut (*error).message, &failure.message);
    }
    failure.code
}

/// Terminated, cut between characters, without a NUL inside.
fn write_message(into: &mut [c_char; KABI_ERROR_MESSAGE_SIZE], text: &str) {
    let mut end = text.len().min(KABI_ERROR_MESSAGE_SIZE - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let bytes = text.as_bytes().get(..end).unwrap_or_default();
    for (slot, &byte) in into.iter_mut().zip(bytes) {
        *slot = if byte == 0 { b' ' as c_char } else { byte as c_char };
    }
    if let Some(slot) = into.get_mut(end) {
        *slot = 0;
    }
}

/// errno as it was before, whatever happens in between.
struct Errno {
    before: i32,
}

impl Errno {
    #[inline]
    fn keep() -> Errno {
        // SAFETY: the location is this thread's own and always valid.
        Errno { before: unsafe { *libc::__errno_location() } }
    }
}

impl Drop for Errno {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *libc::__errno_location() = self.before };
    }
}
