//! Brokers of the embedded cluster that come and go, say that they are elsewhere, and ask clients for metrics.

use super::arguments::{slice, text, NAME_MAX};
use super::boundary::call;
use super::handles::with;
use crate::client::cluster::Cluster;
use crate::error::Result;
use crate::handle::Mode;
use crate::record::{kabi_cluster_t, kabi_error_t, kabi_status_t};
use std::ffi::c_char;

/// Adds a broker with an id of 1 to 10,000 that no other has, on a port of 127.0.0.1 that the system chooses.
/// There may be 100 at most. The copies of all partitions are spread over the brokers anew, and leaders
/// chosen among them; clients learn of the broker with the metadata that they ask for next.
///
/// Errors: KABI_STATUS_ARGUMENT, KABI_STATUS_SYSTEM (no socket to be had).
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_broker_add(
    cluster: *mut kabi_cluster_t,
    broker: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            cluster.broker_add(broker)
        })
    })
}

/// Removes a broker (an id) for good: its connections are closed, what it coordinates goes to others, and the
/// copies of all partitions are spread over the others anew, with leaders chosen among them. Records are
/// kept. One of the brokers that kabi_cluster_bootstrap() names has to stay.
///
/// Errors: KABI_STATUS_ARGUMENT.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_broker_remove(
    cluster: *mut kabi_cluster_t,
    broker: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            cluster.broker_remove(broker)
        })
    })
}

/// Chooses the address at which a broker (an id) says that it is, as behind a proxy or with a mistake in
/// advertised.listeners. It stays where it is: kabi_cluster_bootstrap() names that place, and clients go
/// to the new one once they have asked for metadata.
///
/// `host` is a name or an IPv4 address of 1 to 127 bytes, `port` 1 to 65,535.
///
/// Errors: KABI_STATUS_ARGUMENT.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_broker_address(
    cluster: *mut kabi_cluster_t,
    broker: i32,
    host: *const c_char,
    port: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let host = unsafe { text(host, NAME_MAX, "the host") }?;
            cluster.broker_address(broker, host, port)
        })
    })
}

/// Lets brokers ask clients for metrics (KIP-714), as real ones do that are set up for it: `metrics` has
/// `count` (1 to 1,000) beginnings of metric names, of which "" stands for all; clients send them every
/// `interval_ms` milliseconds, 1 to 600,000. What comes is only counted, as requests of the kind
/// KABI_REQUEST_PUSH_TELEMETRY. For clients that connect after this; once for each cluster.
///
/// Errors: KABI_STATUS_ARGUMENT, KABI_STATUS_STATE (it asks for metrics already).
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_telemetry(
    cluster: *mut kabi_cluster_t,
    metrics: *const *const c_char,
    count: usize,
    interval_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let metrics = unsafe { slice(metrics, count, "metrics") }?
                .iter()
                // SAFETY: by this function's contract.
                .map(|&metric| unsafe { text(metric, NAME_MAX, "a metric's name") })
                .collect::<Result<Vec<&str>>>()?;
            cluster.telemetry(&metrics, interval_ms)
        })
    })
}
