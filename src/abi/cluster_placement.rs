//! Which broker of the embedded cluster does what: leaders, followers, racks, coordinators; and what
//! coordinators do with groups.

use super::arguments::{text, NAME_MAX, VALUE_MAX};
use super::boundary::call;
use super::handles::with;
use crate::client::cluster::Cluster;
use crate::handle::Mode;
use crate::record::{kabi_cluster_t, kabi_error_t, kabi_status_t};
use std::ffi::c_char;

/// Makes a broker (an id) the leader of a partition, or leaves it without one (KABI_BROKER_NONE). Clients
/// notice by the old leader's answers.
///
/// Errors: KABI_STATUS_ARGUMENT (no broker has this id); KABI_STATUS_UNKNOWN_TOPIC_OR_PART
/// (kabi_cluster_topic_create() has made no such topic, or not with this partition).
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_leader(
    cluster: *mut kabi_cluster_t,
    topic: *const c_char,
    partition: i32,
    broker: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let topic = unsafe { text(topic, NAME_MAX, "the topic name") }?;
            cluster.leader(topic, partition, broker)
        })
    })
}

/// Makes the next answer that tells a client about the leader of a partition name this broker (an id, or
/// KABI_BROKER_NONE) and this epoch (-1 for none), whoever leads it: as brokers do whose metadata is stale.
/// Each call is good for one answer more, to whichever client asks first.
///
/// Errors: as kabi_cluster_leader(), and KABI_STATUS_ARGUMENT (an epoch below -1).
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_leader_answer(
    cluster: *mut kabi_cluster_t,
    topic: *const c_char,
    partition: i32,
    broker: i32,
    leader_epoch: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let topic = unsafe { text(topic, NAME_MAX, "the topic name") }?;
            cluster.leader_answer(topic, partition, broker, leader_epoch)
        })
    })
}

/// Makes a broker (an id) the follower that the leader of a partition sends every consumer to for
/// reading, whatever its client.rack says; KABI_BROKER_NONE ends that. Consumers notice with their next
/// answer from the leader.
///
/// Errors: as kabi_cluster_leader().
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_follower(
    cluster: *mut kabi_cluster_t,
    topic: *const c_char,
    partition: i32,
    broker: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let topic = unsafe { text(topic, NAME_MAX, "the topic name") }?;
            cluster.follower(topic, partition, broker)
        })
    })
}

/// Lets the follower of a partition have only the records from offset `low` on, and before offset
/// `high`, as one that lags behind; -1 stands for what the leader has.
///
/// Errors: as kabi_cluster_leader(), and KABI_STATUS_ARGUMENT (an offset below -1, or `low` above
/// `high`).
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_follower_watermarks(
    cluster: *mut kabi_cluster_t,
    topic: *const c_char,
    partition: i32,
    low: i64,
    high: i64,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let topic = unsafe { text(topic, NAME_MAX, "the topic name") }?;
            cluster.follower_watermarks(topic, partition, low, high)
        })
    })
}

/// Gives a broker (an id, or KABI_BROKER_ALL) a rack, up to 255 bytes, which clients are told with the
/// metadata that they ask for next.
///
/// Errors: KABI_STATUS_ARGUMENT.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_rack(
    cluster: *mut kabi_cluster_t,
    broker: i32,
    rack: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let rack = unsafe { text(rack, NAME_MAX, "the rack") }?;
            cluster.rack(broker, rack)
        })
    })
}

/// Makes a broker (an id) the coordinator of a group (KABI_COORDINATOR_GROUP, `key` is the group's id) or
/// of transactions (KABI_COORDINATOR_TRANSACTION, `key` is the transactional id). Until then the cluster
/// chooses one by the key. Clients notice by the old coordinator's answers.
///
/// Errors: KABI_STATUS_ARGUMENT.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_coordinator(
    cluster: *mut kabi_cluster_t,
    kind: i32,
    key: *const c_char,
    broker: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let key = unsafe { text(key, NAME_MAX, "the group or transactional id") }?;
            cluster.coordinator(kind, key, broker)
        })
    })
}

/// Makes new groups of the classic protocol wait `delay_ms` milliseconds, 0 to 600,000, for further
/// members before their first assignment, as the broker's group.initial.rebalance.delay.ms does. It
/// is 0 at first.
///
/// Errors: KABI_STATUS_ARGUMENT.
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_group_delay(
    cluster: *mut kabi_cluster_t,
    delay_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            cluster.group_delay(delay_ms)
        })
    })
}

/// Sets what the coordinators tell members of new groups by group.protocol=consumer: after how many
/// milliseconds without a sign of life a member is out (30,000 at first), and how often it gives one
/// (3,000 at first), which is also how soon it learns of a new assignment.
///
/// Errors: KABI_STATUS_ARGUMENT (not from 1 to 600,000, or the interval above the time-out).
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_group_timing(
    cluster: *mut kabi_cluster_t,
    session_timeout_ms: i32,
    heartbeat_interval_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            cluster.group_timing(session_timeout_ms, heartbeat_interval_ms)
        })
    })
}

/// Chooses what each member of a group by group.protocol=consumer is to be assigned. `json` is an object
/// `{"member id": {"topic": [partition, ...]}}`; NULL lets the cluster assign by itself again. Members
/// that are not named keep what they have.
///
/// The cluster does not tell which groups and members there are: a group without members is left
/// alone, and so are members that it does not have. It has one whose kabi_consumer_group_generation() is
/// above 0.
///
/// Errors: KABI_STATUS_ARGUMENT (other JSON; the message says where); KABI_STATUS_UNKNOWN_TOPIC_OR_PART
/// (kabi_cluster_topic_create() has made no such topic, or not with this partition).
///
/// @nullable json
#[no_mangle]
pub unsafe extern "C" fn kabi_cluster_group_target(
    cluster: *mut kabi_cluster_t,
    group: *const c_char,
    json: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(cluster, Mode::Any, |cluster: &Cluster, _| {
            // SAFETY: by this function's contract.
            let (group, json) = unsafe {
                let group = text(group, NAME_MAX, "the group")?;
                let json = if json.is_null() {
                    None
                } else {
                    Some(text(json, VALUE_MAX, "the target assignment")?)
                };
                (group, json)
            };
            cluster.group_target(group, json)
        })
    })
}
