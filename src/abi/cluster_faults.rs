//! Faults of the embedded cluster: errors that requests and topics get, versions that are missing.

use super::arguments::{out, text, NAME_MAX};
use super::boundary::call;
use super::handles::with;
use crate::client::cluster::Cluster;
use crate::handle::Mode;
use crate::record::{kabi_cluster_t, kabi_error_t, kabi_status_t};
use std::ffi::c_char;

/// Makes the next `count` requests of one kind, whichever broker they reach, fail with `code`. What
/// was injected before and is not used up comes first.
///
/// `request` is a KABI_REQUEST_* number. `code` is a KABI_STATUS_* number that brokers answer with
/// (positive, or KABI_STATUS_UNKNOWN); KABI_STATUS_TRANSPORT closes the connection instead, and 0 lets
/// requests through. `count` is 1 to 100,000. Clients retry some errors by themselves, which uses one
/// up for each attempt.
///
/// Errors: KABI_STATUS_ARGUMENT.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_inject_errors(
    cluster: *mut kabi_cluster_t,
    request: i32,
    code: i32,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            cluster.inject_errors(request, code, count)
        })
    })
}

/// Like kabi_cluster_inject_errors(), for the requests that reach one broker (an id, or KABI_BROKER_ALL:
/// each gets `count` of them), and with a delay of each answer by `latency_ms` milliseconds, 0 to
/// 600,000. With `code` 0 it only delays. A connection that is closed by KABI_STATUS_TRANSPORT is closed
/// without the delay.
///
/// They come before those of kabi_cluster_inject_errors(), which do not reach this broker for this kind
/// of request any more, even once these are used up.
///
/// Errors: KABI_STATUS_ARGUMENT.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_inject_broker_errors(
    cluster: *mut kabi_cluster_t,
    broker: i32,
    request: i32,
    code: i32,
    latency_ms: i32,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            cluster.inject_broker_errors(broker, request, code, latency_ms, count)
        })
    })
}

/// Writes to `count` how many errors of kabi_cluster_inject_broker_errors() no request has used up yet,
/// at one broker (an id) or at all together (KABI_BROKER_ALL).
///
/// Errors: KABI_STATUS_ARGUMENT.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_broker_errors_left(
    cluster: *mut kabi_cluster_t,
    broker: i32,
    request: i32,
    count: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let mut count = unsafe { out(count, "count") }?;
            count.set(cluster.broker_errors_left(broker, request)?);
            Ok(())
        })
    })
}

/// Takes back the errors of kabi_cluster_inject_errors() for this kind of request (a KABI_REQUEST_*) that
/// are not used up. Those of kabi_cluster_inject_broker_errors() stay.
///
/// Errors: KABI_STATUS_ARGUMENT.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_clear_errors(
    cluster: *mut kabi_cluster_t,
    request: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            cluster.clear_errors(request)
        })
    })
}

/// Makes the cluster tell `code` to whoever asks for a topic's metadata, or adds its partitions to a
/// transaction; 0 ends that. Clients that know the topic already notice when they next ask, within
/// their property topic.metadata.refresh.interval.ms or after an error.
///
/// `code` is a KABI_STATUS_* number that brokers answer with.
///
/// Errors: KABI_STATUS_ARGUMENT; KABI_STATUS_UNKNOWN_TOPIC_OR_PART (kabi_cluster_topic_create() has not
/// made this topic).
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_topic_error(
    cluster: *mut kabi_cluster_t,
    topic: *const c_char,
    code: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let topic = unsafe { text(topic, NAME_MAX, "the topic name") }?;
            cluster.topic_error(topic, code)
        })
    })
}

/// Lets all brokers understand only the versions `min` to `max` of a request (a KABI_REQUEST_*), as older
/// brokers would; -1 and -1 take the request away. For clients that connect after this.
///
/// The versions must be among those that the embedded cluster has built in, which the error names.
///
/// Errors: KABI_STATUS_ARGUMENT.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_api_versions(
    cluster: *mut kabi_cluster_t,
    request: i32,
    min: i32,
    max: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            cluster.api_versions(request, min, max)
        })
    })
}
