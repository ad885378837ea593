//! User name and password of a living client, for SASL with PLAIN or SCRAM.

use super::arguments::{text, NAME_MAX};
use super::boundary::call;
use super::handles::with_open;
use crate::client::admin::Admin;
use crate::client::consumer::Consumer;
use crate::client::producer::Producer;
use crate::error::{Error, Result};
use crate::record::{kabi_admin_t, kabi_consumer_t, kabi_error_t, kabi_producer_t, kabi_status_t};
use std::ffi::c_char;

/// Gives a producer another user name and password, in place of the properties sasl.username and
/// sasl.password: for a password that changes while the program runs. Connections made from now on use
/// them, and those waiting for their next try are tried at once; connections that stand are left alone.
/// Whether brokers accept them is told as for the first ones, by KABI_EVENT_ERROR.
///
/// Both are NUL-terminated UTF-8, up to 32 KiB, and are copied; they appear in no log line, error or
/// document. Any thread may call it, a handler as well.
///
/// Errors: KABI_STATUS_ARGUMENT (one is empty), KABI_STATUS_STATE (security.protocol is not sasl_plaintext or
/// sasl_ssl, or sasl.mechanisms not PLAIN or SCRAM).
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_credentials_set(
    producer: *mut kabi_producer_t,
    username: *const c_char,
    password: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            // SAFETY: by this function's contract.
            let (username, password) = unsafe { both(username, password) }?;
            producer.set_credentials(username, password)
        })
    })
}

/// As kabi_producer_credentials_set(), for a consumer.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_credentials_set(
    consumer: *mut kabi_consumer_t,
    username: *const c_char,
    password: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let (username, password) = unsafe { both(username, password) }?;
            consumer.set_credentials(username, password)
        })
    })
}

/// As kabi_producer_credentials_set(), for an admin. One on top of another client changes that one's.
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_credentials_set(
    admin: *mut kabi_admin_t,
    username: *const c_char,
    password: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| {
            // SAFETY: by this function's contract.
            let (username, password) = unsafe { both(username, password) }?;
            admin.set_credentials(username, password)
        })
    })
}

/// # Safety
/// Each is NULL or terminated.
unsafe fn both<'a>(username: *const c_char, password: *const c_char) -> Result<(&'a str, &'a str)> {
    // SAFETY: by the contract.
    let (username, password) = unsafe {
        (
            text(username, NAME_MAX, "username")?,
            text(password, NAME_MAX, "password")?,
        )
    };
    if username.is_empty() || password.is_empty() {
        return Err(Error::argument("the user name or the password is empty"));
    }
    Ok((username, password))
}
