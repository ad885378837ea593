//! The embedded cluster: Kafka brokers inside the process, for demonstrations and tests.

use super::arguments::{out, text, write_text, NAME_MAX};
use super::boundary::{call, quiet};
use super::handles::{free_cluster, insert, with, Object};
use crate::client::cluster::Cluster;
use crate::handle::Mode;
use crate::record::{kabi_cluster_t, kabi_error_t, kabi_status_t};
use std::ffi::c_char;

/// Starts an embedded Kafka cluster of 1 to 100 brokers with the ids 1 to `brokers`, on ports of
/// 127.0.0.1 that the system chooses. Any Kafka client that is built on librdkafka can use it, in this
/// process or another (Java's clients from 3.4 on hang against it).
///
/// It keeps records in memory: up to 5 MiB or 100,000 batches a partition, the oldest go first. It
/// creates a topic of 4 partitions when a client asks for one that is not there. It does not carry out
/// transactions: aborted records are read. Timestamps in reports from it mean nothing.
///
/// It is freed by kabi_cluster_free(). Any thread may use it, several at once; calls take turns.
///
/// Errors: KABI_STATUS_ARGUMENT, KABI_STATUS_SYSTEM (no sockets or no handle to be had).
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_new(
    brokers: i32,
    cluster: *mut *mut kabi_cluster_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        let mut cluster = unsafe { out(cluster, "cluster") }?;
        cluster.set(std::ptr::null_mut());
        cluster.set(insert(Object::Cluster(Cluster::new(brokers)?))?);
        Ok(())
    })
}

/// Writes the cluster's addresses to `buffer`, NUL-terminated, as the property bootstrap.servers takes
/// them, and their length without the NUL to `length`. They never change: they are those of the brokers that
/// it began with.
///
/// With a buffer that is too small (NULL with size 0 is allowed) the length is written all the same,
/// and KABI_STATUS_BUFFER_TOO_SMALL returned.
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_bootstrap(
    cluster: *mut kabi_cluster_t,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            unsafe { write_text(cluster.bootstrap(), buffer, size, length) }
        })
    })
}

/// Creates a topic of 1 to 10,000 partitions, each with 1 to as many copies as there are brokers.
///
/// `name` is 1 to 249 ASCII letters, digits, '.', '_' and '-', NUL-terminated.
///
/// Errors: KABI_STATUS_ARGUMENT, KABI_STATUS_TOPIC_ALREADY_EXISTS.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_topic_create(
    cluster: *mut kabi_cluster_t,
    name: *const c_char,
    partitions: i32,
    replication: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let name = unsafe { text(name, NAME_MAX, "the topic name") }?;
            cluster.create_topic(name, partitions, replication)
        })
    })
}

/// Makes a broker (an id, or KABI_BROKER_ALL) close its connections and refuse new ones. It stays the
/// leader of its partitions, which can't be reached meanwhile. Not an error if it is down already.
///
/// Errors: KABI_STATUS_ARGUMENT (no broker has this id).
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_broker_down(
    cluster: *mut kabi_cluster_t,
    broker: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            cluster.broker_down(broker)
        })
    })
}

/// Makes a broker (an id, or KABI_BROKER_ALL) take connections again, at the address that it had.
/// Clients come back when they next try to connect: within their property reconnect.backoff.max.ms.
/// Not an error if it is up already.
///
/// Errors: KABI_STATUS_ARGUMENT (no broker has this id).
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_broker_up(
    cluster: *mut kabi_cluster_t,
    broker: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            cluster.broker_up(broker)
        })
    })
}

/// Makes a broker (an id, or KABI_BROKER_ALL) hold each of its answers back for `latency_ms`
/// milliseconds, 0 to 600,000.
///
/// Errors: KABI_STATUS_ARGUMENT (no broker has this id, or the latency is out of range).
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_latency(
    cluster: *mut kabi_cluster_t,
    broker: i32,
    latency_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            cluster.latency(broker, latency_ms)
        })
    })
}

/// Stops the cluster and frees it; what it holds is gone. It takes about a millisecond, rarely a
/// second; calls in progress on other threads finish first. Clients that use it lose their connections.
///
/// NULL and handles that were freed already are left alone.
///
/// @nullable cluster
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_free(cluster: *mut kabi_cluster_t) {
    quiet((), || free_cluster(cluster));
}

#[cfg(test)]
mod tests;
