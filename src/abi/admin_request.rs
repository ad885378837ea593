//! Requests of admins: by JSON documents, and typed ones for every day.

use super::arguments::{out, text, timeout, write_text, Out, NAME_MAX, VALUE_MAX};
use super::boundary::call;
use super::handles::with_open;
use crate::client::admin::{Admin, How};
use crate::error::{Error, Result};
use crate::record::{
    kabi_admin_t, kabi_error_t, kabi_status_t, KABI_OUTCOME_EVENT, KABI_OUTCOME_KEPT,
};
use std::ffi::c_char;

/// What a NULL stands for.
const NO_ARGUMENTS: &str = "{}";

/// The arguments, which may be NULL.
///
/// # Safety
/// `arguments` is NULL or a NUL-terminated string that does not change during the export.
unsafe fn document<'a>(arguments: *const c_char) -> Result<&'a str> {
    if arguments.is_null() {
        return Ok(NO_ARGUMENTS);
    }
    // SAFETY: by the contract.
    unsafe { text(arguments, VALUE_MAX, "arguments") }
}

/// Begins a request that nobody waits for, and gives its number.
///
/// `operation` is one of the names in api/admin.schema.json, which has the shape of each one's arguments
/// and answer: topics_create, topics_delete, topics_describe, partitions_create, records_delete,
/// leaders_elect, configs_describe, configs_alter, configs_alter_incremental, cluster_describe, metadata,
/// groups_list, groups_describe, groups_delete, group_offsets_list, group_offsets_alter,
/// group_offsets_delete, offsets_list, acls_create, acls_describe, acls_delete, scram_users_describe,
/// scram_users_alter. `arguments` is a JSON document, for example
/// {"topics":[{"topic":"orders","partitions":6}]}; NULL stands for {}. Both are copied.
///
/// `timeout_ms` is how long the answer may take: the request ends then with KABI_STATUS_TIMED_OUT, and
/// whether a broker has carried it out is not known. -1, like anything longer, is an hour.
///
/// `outcome` says where the answer goes. With KABI_OUTCOME_EVENT exactly one KABI_EVENT_REQUEST event comes:
/// its token is the request's number, its code is 0 if the request was answered, its text the answer or
/// else an object whose "error" has "code", "name" and "text". With KABI_OUTCOME_KEPT the answer is kept for
/// kabi_admin_result(). An answer has a status for each item; "failed" in it counts those that are not 0.
///
/// `request` gets the number, never 0 and never used twice by one admin; 0 on failure.
///
/// Errors: KABI_STATUS_ARGUMENT (the message says where in the document the fault is),
/// KABI_STATUS_QUEUE_FULL (too many outcomes wait to be drained or fetched, see kafkabi.events.max, or more
/// than 16 of metadata and acls_describe, each of which takes a thread, are under way),
/// KABI_STATUS_STATE (an event is wanted, but is not in the event mask).
///
/// @nullable arguments
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_start(
    admin: *mut kabi_admin_t,
    operation: *const c_char,
    arguments: *const c_char,
    timeout_ms: i32,
    outcome: u32,
    request: *mut u64,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| {
            // SAFETY: by this function's contract.
            let mut request = unsafe { out(request, "request") }?;
            request.set(0);
            // SAFETY: by this function's contract.
            let (operation, arguments) = unsafe {
                (
                    text(operation, NAME_MAX, "operation")?,
                    document(arguments)?,
                )
            };
            let how = match outcome {
                KABI_OUTCOME_EVENT => How::Event,
                KABI_OUTCOME_KEPT => How::Kept,
                other => {
                    return Err(Error::argument(format!(
                        "outcome is {other}; it is KABI_OUTCOME_EVENT or KABI_OUTCOME_KEPT"
                    )))
                }
            };
            request.set(admin.start(operation, arguments, timeout(timeout_ms)?, how)?);
            Ok(())
        })
    })
}

/// Waits up to `timeout_ms` (-1: until the request ends, 0: not at all) for the outcome of a request that
/// was begun with KABI_OUTCOME_KEPT or by kabi_admin_call(), and writes the answer to `buffer`,
/// NUL-terminated, and its length without the NUL to `length`. With that the request is done with and its
/// number stale.
///
/// With a buffer that is too small (NULL with size 0 is allowed) the length is written all the same,
/// KABI_STATUS_BUFFER_TOO_SMALL is returned, and the answer is kept: calling again never repeats the request.
///
/// A request that failed as a whole returns its status here, and is done with as well.
///
/// Errors: KABI_STATUS_TIMED_OUT (without KABI_ERROR_OUTCOME_UNKNOWN the request goes on, and calling again
/// waits on; with it the request itself has timed out), KABI_STATUS_INTERRUPTED (a wake; calling again
/// waits on), KABI_STATUS_CLOSED (a close meanwhile), KABI_STATUS_NOENT (no such request is kept).
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_result(
    admin: *mut kabi_admin_t,
    request: u64,
    timeout_ms: i32,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| {
            // SAFETY: by this function's contract.
            unsafe { out(length, "length") }?.set(0);
            let wait = timeout(timeout_ms)?;
            admin.result(request, wait, timeout_ms, |answer| {
                // SAFETY: by this function's contract.
                unsafe { write_text(answer, buffer, size, length) }
            })
        })
    })
}

/// Drops the outcome of a request begun with KABI_OUTCOME_KEPT, now or when it comes. The request itself
/// goes on. Its number is stale from now on.
///
/// Errors: KABI_STATUS_NOENT (no such request is kept).
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_discard(
    admin: *mut kabi_admin_t,
    request: u64,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| admin.discard(request))
    })
}

/// Does an operation and waits for the answer: kabi_admin_start() with KABI_OUTCOME_KEPT and
/// kabi_admin_result() in one. 0 says that the request was answered; how each item fared is in the answer.
///
/// `request` gets the request's number, or 0 if none was begun. With KABI_STATUS_BUFFER_TOO_SMALL (`length`
/// says the size) and KABI_STATUS_INTERRUPTED (a wake) the request is not done with: go on by
/// kabi_admin_result(), or give it up by kabi_admin_discard(). Calling this again would do it twice. After any
/// other status it is done with.
///
/// Errors: those of both functions.
///
/// @nullable arguments, buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_call(
    admin: *mut kabi_admin_t,
    operation: *const c_char,
    arguments: *const c_char,
    timeout_ms: i32,
    request: *mut u64,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| {
            // SAFETY: by this function's contract.
            let (mut number, operation, arguments) = unsafe {
                out(length, "length")?.set(0);
                (
                    Number::in_place(out(request, "request")?),
                    text(operation, NAME_MAX, "operation")?,
                    document(arguments)?,
                )
            };
            let wait = timeout(timeout_ms)?;
            admin.call(operation, arguments, wait, &mut number.value, |answer| {
                // SAFETY: by this function's contract.
                unsafe { write_text(answer, buffer, size, length) }
            })
        })
    })
}

/// The request's number, written to the caller's memory whatever happens.
struct Number<'a> {
    value: u64,
    place: Out<'a, u64>,
}

impl<'a> Number<'a> {
    fn in_place(mut place: Out<'a, u64>) -> Number<'a> {
        place.set(0);
        Number { value: 0, place }
    }
}

impl Drop for Number<'_> {
    fn drop(&mut self) {
        self.place.set(self.value);
    }
}

/// Creates a topic and waits until the controller has. The brokers learn of it within moments.
///
/// `partitions` and `replication` may be -1 for the brokers' defaults. `timeout_ms` is as in
/// kabi_admin_start().
///
/// Errors: KABI_STATUS_ARGUMENT, KABI_STATUS_TOPIC_ALREADY_EXISTS and others of the brokers',
/// KABI_STATUS_TIMED_OUT and KABI_STATUS_INTERRUPTED (a wake): whether the topic is created is not known
/// then, and calling again tells.
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_topic_create(
    admin: *mut kabi_admin_t,
    name: *const c_char,
    partitions: i32,
    replication: i32,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| {
            // SAFETY: by this function's contract.
            let name = unsafe { text(name, NAME_MAX, "the topic name") }?;
            admin.create_topic(name, partitions, replication, timeout(timeout_ms)?)
        })
    })
}

/// Deletes a topic and all that is in it, and waits until the controller has.
///
/// Errors: KABI_STATUS_UNKNOWN_TOPIC_OR_PART and others of the brokers'; else as in
/// kabi_admin_topic_create().
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_topic_delete(
    admin: *mut kabi_admin_t,
    name: *const c_char,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| {
            // SAFETY: by this function's contract.
            let name = unsafe { text(name, NAME_MAX, "the topic name") }?;
            admin.delete_topic(name, timeout(timeout_ms)?)
        })
    })
}

/// Adds partitions to a topic, so that it has `total` in all. Records stay where they are, so keys may go to
/// other partitions after.
///
/// Errors: KABI_STATUS_INVALID_PARTITIONS (it has as many already) and others of the brokers'; else as in
/// kabi_admin_topic_create().
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_partitions_add(
    admin: *mut kabi_admin_t,
    name: *const c_char,
    total: i32,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| {
            // SAFETY: by this function's contract.
            let name = unsafe { text(name, NAME_MAX, "the topic name") }?;
            admin.add_partitions(name, total, timeout(timeout_ms)?)
        })
    })
}
