//! Tokens for SASL/OAUTHBEARER, which a client asks for by KABI_EVENT_TOKEN.

use super::arguments::{text, NAME_MAX, VALUE_MAX};
use super::boundary::call;
use super::handles::with_open;
use crate::client::admin::Admin;
use crate::client::consumer::Consumer;
use crate::client::producer::Producer;
use crate::error::{Error, Result};
use crate::rd::sasl::Token;
use crate::record::{kabi_admin_t, kabi_consumer_t, kabi_error_t, kabi_producer_t, kabi_status_t};
use std::ffi::c_char;

/// Gives a producer the token that it asked for by KABI_EVENT_TOKEN, or one before it asks. Any thread may
/// do so, a handler as well.
///
/// `token` is what is sent to brokers, `lifetime_ms` when it ends (milliseconds since 1970; in the
/// future), `principal` whose it is. `extensions`, which may be NULL, is a JSON object of SASL extensions:
/// names and values, all texts. All is copied.
///
/// Errors: KABI_STATUS_ARGUMENT (not JSON, or not an object of texts), KABI_STATUS_INVALID_ARG (librdkafka
/// refuses a part, which the message names), KABI_STATUS_STATE (sasl.mechanisms is not OAUTHBEARER).
///
/// @nullable extensions
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_token_set(
    producer: *mut kabi_producer_t,
    token: *const c_char,
    lifetime_ms: i64,
    principal: *const c_char,
    extensions: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            // SAFETY: by this function's contract.
            unsafe {
                with_token(token, lifetime_ms, principal, extensions, |token| {
                    producer.set_token(token)
                })
            }
        })
    })
}

/// Tells a producer that there is no token to be had now, and why. It makes a KABI_EVENT_ERROR of it and
/// asks again after ten seconds. Errors as in kabi_producer_token_set().
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_token_failure(
    producer: *mut kabi_producer_t,
    why: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            // SAFETY: by this function's contract.
            producer.set_token_failure(unsafe { reason(why) }?)
        })
    })
}

/// As kabi_producer_token_set(), for a consumer.
///
/// @nullable extensions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_token_set(
    consumer: *mut kabi_consumer_t,
    token: *const c_char,
    lifetime_ms: i64,
    principal: *const c_char,
    extensions: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            unsafe {
                with_token(token, lifetime_ms, principal, extensions, |token| {
                    consumer.set_token(token)
                })
            }
        })
    })
}

/// As kabi_producer_token_failure(), for a consumer.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_token_failure(
    consumer: *mut kabi_consumer_t,
    why: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            consumer.set_token_failure(unsafe { reason(why) }?)
        })
    })
}

/// As kabi_producer_token_set(), for an admin. One on top of another client hands the token to that.
///
/// @nullable extensions
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_token_set(
    admin: *mut kabi_admin_t,
    token: *const c_char,
    lifetime_ms: i64,
    principal: *const c_char,
    extensions: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| {
            // SAFETY: by this function's contract.
            unsafe {
                with_token(token, lifetime_ms, principal, extensions, |token| {
                    admin.set_token(token)
                })
            }
        })
    })
}

/// As kabi_producer_token_failure(), for an admin.
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_token_failure(
    admin: *mut kabi_admin_t,
    why: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| {
            // SAFETY: by this function's contract.
            admin.set_token_failure(unsafe { reason(why) }?)
        })
    })
}

/// # Safety
/// The texts are NULL or terminated.
unsafe fn with_token(
    token: *const c_char,
    lifetime_ms: i64,
    principal: *const c_char,
    extensions: *const c_char,
    set: impl FnOnce(&Token<'_>) -> Result<()>,
) -> Result<()> {
    // SAFETY: by the contract.
    let (value, principal) = unsafe {
        (
            text(token, VALUE_MAX, "token")?,
            text(principal, NAME_MAX, "principal")?,
        )
    };
    let extensions = if extensions.is_null() {
        Vec::new()
    } else {
        // SAFETY: by the contract.
        pairs(unsafe { text(extensions, VALUE_MAX, "extensions") }?)?
    };
    set(&Token {
        value,
        lifetime_ms,
        principal,
        extensions: &extensions,
    })
}

fn pairs(json: &str) -> Result<Vec<(String, String)>> {
    let object: std::collections::BTreeMap<String, String> = serde_json::from_str(json)
        .map_err(|e| Error::argument(format!("extensions is not a JSON object of texts: {e}")))?;
    Ok(object.into_iter().collect())
}

/// # Safety
/// `why` is NULL or terminated.
unsafe fn reason<'a>(why: *const c_char) -> Result<&'a str> {
    // SAFETY: by the contract.
    let why = unsafe { text(why, NAME_MAX, "why") }?;
    if why.is_empty() {
        return Err(Error::argument("why is empty: say what went wrong"));
    }
    Ok(why)
}
