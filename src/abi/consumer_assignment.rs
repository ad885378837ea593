//! What a consumer has and does not have just now: incremental assignment, pauses, changes that the program
//! applies itself, and its place in the group.

use super::arguments::{out, slice, slice_mut, write_text};
use super::boundary::call;
use super::handles::with_open;
use super::partitions::{keys_of, partitions_of, with_codes, write_keys};
use crate::client::consumer::{Consumer, Partition};
use crate::error::Error;
use crate::record::{kabi_consumer_t, kabi_error_t, kabi_partition_t, kabi_status_t};
use crate::status::KABI_STATUS_BUFFER_TOO_SMALL;
use std::ffi::c_char;

fn keys(list: &[Partition<'_>]) -> Vec<(i32, i32)> {
    list.iter().map(|p| p.key).collect()
}

/// Reads these partitions too, besides those that kabi_consumer_assign() assigned, from the offsets given,
/// as there. All or none are assigned.
///
/// Errors: KABI_STATUS_STATE for a partition that is assigned already, or while topics are subscribed to;
/// KABI_STATUS_REENTERED inside a handler of an assignment change.
///
/// @nullable partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_incremental_assign(
    consumer: *mut kabi_consumer_t,
    partitions: *const kabi_partition_t,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let partitions = unsafe { partitions_of(slice(partitions, count, "partitions")?) }?;
            consumer.assign_more(&partitions)
        })
    })
}

/// Reads these partitions no more; others stay. Records in hand of them can't be handled any more; what is
/// handled is committed, if commits are automatic. Offsets are ignored.
///
/// Waits as kabi_consumer_assign() does.
///
/// Errors: KABI_STATUS_STATE for a partition that is not assigned, or while topics are subscribed to;
/// KABI_STATUS_REENTERED inside a handler of an assignment change.
///
/// @nullable partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_incremental_unassign(
    consumer: *mut kabi_consumer_t,
    partitions: *const kabi_partition_t,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let partitions = unsafe { slice(partitions, count, "partitions") }?;
            consumer.unassign(&keys_of(partitions))
        })
    })
}

/// Pauses assigned partitions: polls hand out no records of them until kabi_consumer_resume(), while the
/// consumer keeps them. Records that wait inside the consumer wait on, and are not lost. A pause ends when
/// its partition is taken away. Pausing twice is no error. `code` of each gets its own status, and the
/// result is the first that is not 0. Offsets are ignored.
///
/// Inside a handler of an assignment change it works too, also for the partitions that are being assigned.
///
/// Errors: KABI_STATUS_STATE for a partition that is not assigned.
///
/// @nullable partitions
/// @inout partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_pause(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            unsafe {
                with_codes(partitions, count, |list, status| {
                    consumer.pause(&keys(list), status)
                })
            }
        })
    })
}

/// Lets paused partitions flow again, from where they stopped or were sought to. One that is not paused is
/// left alone. Codes and errors as in kabi_consumer_pause().
///
/// @nullable partitions
/// @inout partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_resume(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            unsafe {
                with_codes(partitions, count, |list, status| {
                    consumer.resume(&keys(list), status)
                })
            }
        })
    })
}

/// Tells which partitions are paused, as kabi_consumer_assignment() tells which are assigned.
///
/// @nullable partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_paused(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    capacity: usize,
    count: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            unsafe { write_keys(&consumer.paused(), "paused", partitions, capacity, count) }
        })
    })
}

/// Tells of the change of the assignment that waits to be applied (property kafkabi.assignment=apply):
/// `change` gets its KABI_ASSIGNMENT_* number, or 0 if none waits, and `partitions` what it gives or takes.
/// `count` gets how many there are, also with KABI_STATUS_BUFFER_TOO_SMALL, when they are more than
/// `capacity` and none is written.
///
/// @nullable partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_assignment_pending(
    consumer: *mut kabi_consumer_t,
    change: *mut i32,
    partitions: *mut kabi_partition_t,
    capacity: usize,
    count: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let mut change = unsafe { out(change, "change") }?;
            let (kind, keys) = consumer.pending_change().unwrap_or_default();
            change.set(kind);
            // SAFETY: as above.
            unsafe { write_keys(&keys, "in the change", partitions, capacity, count) }
        })
    })
}

/// Applies the change of the assignment that waits (property kafkabi.assignment=apply), after which polls
/// hand out records again, none of them of partitions that were taken away. For a KABI_ASSIGNMENT_ASSIGN
/// `partitions` may say where to begin, as in kabi_consumer_assign(); those that it does not name begin
/// where the group committed. Before a KABI_ASSIGNMENT_REVOKE is applied what is handled of its partitions
/// can still be stored and committed.
///
/// A change that is not applied within max.poll.interval.ms costs the consumer its membership, as a program
/// that does not poll would.
///
/// Errors: KABI_STATUS_STATE if none waits, KABI_STATUS_ARGUMENT for a partition that is not in the change.
///
/// @nullable partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_assignment_apply(
    consumer: *mut kabi_consumer_t,
    partitions: *const kabi_partition_t,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let partitions = unsafe { partitions_of(slice(partitions, count, "partitions")?) }?;
            consumer.apply_change(&partitions)
        })
    })
}

/// Writes the topics and regular expressions subscribed to as a JSON array of texts, as
/// kabi_consumer_topic_name() writes a name; "[]" without a subscription.
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_subscription(
    consumer: *mut kabi_consumer_t,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            let text = serde_json::to_string(&consumer.subscription()?)
                .map_err(|e| Error::argument(format!("the subscription: {e}")))?;
            // SAFETY: by this function's contract.
            unsafe { write_text(&text, buffer, size, length) }
        })
    })
}

/// Writes the name that the group knows this consumer by, as kabi_consumer_topic_name() writes a name. Empty
/// before it has joined.
///
/// Errors: KABI_STATUS_UNKNOWN_GROUP without the property group.id.
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_member_id(
    consumer: *mut kabi_consumer_t,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            unsafe { write_text(&consumer.member_id()?, buffer, size, length) }
        })
    })
}

/// Writes how the group changes assignments, as kabi_consumer_topic_name() writes a name: "EAGER" (all
/// partitions are taken before new ones are given), "COOPERATIVE" (only those that move), or "NONE" before
/// the consumer has joined.
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_rebalance_protocol(
    consumer: *mut kabi_consumer_t,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            unsafe { write_text(consumer.rebalance_protocol(), buffer, size, length) }
        })
    })
}

/// Writes group, generation and member as bytes that a producer's transaction takes to commit this
/// consumer's offsets, in this process or another with the same library. `length` gets how many there are,
/// also with KABI_STATUS_BUFFER_TOO_SMALL. They are out of date after the next change of the assignment.
///
/// Errors: KABI_STATUS_UNKNOWN_GROUP without the property group.id.
///
/// @nullable bytes
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_group_metadata(
    consumer: *mut kabi_consumer_t,
    bytes: *mut u8,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let (places, mut length) =
                unsafe { (slice_mut(bytes, size, "bytes")?, out(length, "length")?) };
            let metadata = consumer.group_metadata()?;
            length.set(metadata.len());
            let place = places.get_mut(..metadata.len()).ok_or_else(|| {
                Error::new(
                    KABI_STATUS_BUFFER_TOO_SMALL,
                    format!(
                        "the group metadata needs {} bytes, {size} were given",
                        metadata.len()
                    ),
                )
            })?;
            place.copy_from_slice(&metadata);
            Ok(())
        })
    })
}

/// Writes the group's generation to `generation`, as this member knows it: each time the group decides anew
/// who has which partitions it grows. With group.protocol=consumer it is the member's epoch. Below 0 while
/// the consumer is no member. (The generation of kabi_batch_info_t is another number, the consumer's own.)
///
/// Errors: KABI_STATUS_UNKNOWN_GROUP without the property group.id.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_group_generation(
    consumer: *mut kabi_consumer_t,
    generation: *mut i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let mut generation = unsafe { out(generation, "generation") }?;
            generation.set(consumer.group_generation()?);
            Ok(())
        })
    })
}
