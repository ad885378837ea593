//! A panic inside an export stops at the boundary and becomes a status: `cargo test --features test-hooks
//! --test panic`. There is no other way to bring one about, which is what the hook is for.

use kafkabi::abi::library::kabi_abi_version;
use kafkabi::abi::test_hooks::kabi_test_panic;
use kafkabi::record::{kabi_error_t, KABI_ABI_VERSION};
use kafkabi::status::KABI_STATUS_PANIC;
use std::ffi::CStr;

fn message(error: &kabi_error_t) -> String {
    // SAFETY: an error's message is always terminated.
    let text = unsafe { CStr::from_ptr(error.message.as_ptr()) };
    text.to_str().expect("UTF-8").to_owned()
}

#[test]
fn a_panic_is_a_status_with_its_text() {
    let mut error = kabi_error_t::default();
    // SAFETY: the error is the caller's, as for every export.
    let status = unsafe { kabi_test_panic(1, &mut error) };
    assert_eq!(status, KABI_STATUS_PANIC);
    assert_eq!(error.code, KABI_STATUS_PANIC);
    assert!(
        message(&error).contains("a test asked for this"),
        "{}",
        message(&error)
    );
    assert!(message(&error).contains("report"), "{}", message(&error));
    assert_eq!(
        kabi_abi_version(),
        KABI_ABI_VERSION,
        "and the library goes on"
    );
}

#[test]
fn a_payload_whose_end_panics_too_does_no_harm() {
    let mut error = kabi_error_t::default();
    // SAFETY: as above.
    let status = unsafe { kabi_test_panic(0, &mut error) };
    assert_eq!(status, KABI_STATUS_PANIC);
    assert!(!message(&error).is_empty());
}

#[test]
fn without_an_error_to_fill_the_status_tells() {
    // SAFETY: NULL is allowed for the error.
    let status = unsafe { kabi_test_panic(1, std::ptr::null_mut()) };
    assert_eq!(status, KABI_STATUS_PANIC);
}
