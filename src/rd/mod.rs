//! Thin safe owners of librdkafka's objects: nothing here decides anything about Kafka. Each owner frees
//! what it owns once, keeps alive what it points into, and turns codes and strings into `Error`s. With
//! `abi` and the handle table this is the only place where unsafe code lives.

pub mod admin;
pub mod certificate;
pub mod client;
pub mod conf;
mod consumer;
pub mod descriptor;
pub mod float;
pub mod fork;
pub mod message;
pub mod mock;
pub mod partitions;
pub mod produce;
pub mod queue;
pub mod received;
mod records;
mod resolve;
pub mod sasl;
pub mod signals;
mod sys;
pub mod topic;
pub mod transaction;

use crate::error::{flags_from, Error};
use crate::record::{KABI_ERROR_ABORT_REQUIRED, KABI_ERROR_FATAL};
use crate::status::{KABI_STATUS_MSG_TIMED_OUT, KABI_STATUS_TIMED_OUT};
use std::ffi::{c_char, CStr, CString};

/// What librdkafka reports in a `rd_kafka_error_t`, which is freed here. `None` is success.
///
/// # Safety
/// `error` is NULL or an error object that the caller owns.
unsafe fn take_error(error: *mut sys::rd_kafka_error_t, doing: &str) -> Result<(), Error> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: not NULL, and owned by the caller until the destroy below.
    let (code, text, flags) = unsafe {
        (
            sys::rd_kafka_error_code(error),
            text_of(sys::rd_kafka_error_string(error)),
            flags_from(
                sys::rd_kafka_error_is_retriable(error) != 0,
                sys::rd_kafka_error_is_fatal(error) != 0,
                sys::rd_kafka_error_txn_requires_abort(error) != 0,
            ),
        )
    };
    // SAFETY: owned, and not used after this.
    unsafe { sys::rd_kafka_error_destroy(error) };
    // Of a transaction in which a message's time was up. TIMED_OUT is for a call's time: the same call goes on then.
    let code = match code {
        KABI_STATUS_TIMED_OUT if flags & KABI_ERROR_ABORT_REQUIRED != 0 => {
            KABI_STATUS_MSG_TIMED_OUT
        }
        code => code,
    };
    let message = format!("{doing}: {text} ({})", crate::error::name(code));
    let error = Error::new(code, message);
    if flags & (KABI_ERROR_FATAL | KABI_ERROR_ABORT_REQUIRED) != 0 {
        // What the bare code says (a time-out may be repeated) does not hold here.
        return Err(Error { flags, ..error });
    }
    Err(error.with_flags(flags))
}

/// The version of librdkafka, a text that lives for ever.
pub fn version() -> *const c_char {
    // SAFETY: no arguments; the text is static.
    unsafe { sys::rd_kafka_version_str() }
}

/// Success for 0, else librdkafka's text of the code.
fn check(code: i32, doing: &str) -> Result<(), Error> {
    if code == 0 {
        Ok(())
    } else {
        Err(Error::of_code(code, doing))
    }
}

/// A copy of a C string, with what is not UTF-8 replaced; empty for NULL.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string.
unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not NULL and terminated, by the contract above.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// A name for librdkafka, which a NUL inside would cut short.
fn c_string(text: &str, what: &str) -> Result<CString, Error> {
    CString::new(text).map_err(|_| Error::argument(format!("{what} has a NUL inside: {text:?}")))
}

/// Codes and counts that librdkafka keeps in C ints.
fn clamp_ms(timeout: Option<std::time::Duration>) -> i32 {
    match timeout {
        None => -1,
        Some(t) => {
            // Round up, so that a wait never ends before its time and a loop on it never spins.
            let ms = t.as_millis() + u128::from(t.subsec_nanos() % 1_000_000 != 0);
            i32::try_from(ms).unwrap_or(i32::MAX)
        }
    }
}
