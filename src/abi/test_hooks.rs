//! Exports for the tests alone, behind the feature `test-hooks`: what a test can't bring about from
//! outside, because it must never happen.

#![allow(clippy::panic)]

use super::boundary::{call, quiet};
use crate::record::{kabi_error_t, kabi_status_t};
use std::sync::atomic::{AtomicBool, Ordering};

/// Panics inside the boundary, with a text for a payload or with something else.
#[no_mangle]
pub unsafe extern "C" fn kabi_test_panic(
    with_text: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        if with_text == 0 {
            std::panic::panic_any(Bomb);
        }
        panic!("a test asked for this");
    })
}

static FULL: AtomicBool = AtomicBool::new(false);

/// From now on the table of handles is full (not 0), or as it is (0).
#[no_mangle]
pub extern "C" fn kabi_test_no_handles(full: i32) {
    quiet((), || FULL.store(full != 0, Ordering::SeqCst));
}

pub(super) fn no_handle_is_left() -> bool {
    FULL.load(Ordering::SeqCst)
}

/// A panic's payload whose own end panics too.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("the payload's destructor");
    }
}
