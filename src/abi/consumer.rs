//! Consumers: groups, assignment, positions, commits. Polling is in consumer_poll.

use super::arguments::{out, reference, slice, slice_mut, text, timeout, write_text, NAME_MAX};
use super::boundary::{call, quiet};
use super::handlers::Handlers;
use super::handles::{
    free_client, insert, take_open, with, with_open, Always, ClientObject, ConfigObject, Object,
};
use super::openable::Openable;
use super::partitions::{keys_of, partitions_of, with_codes, write_keys};
use crate::client::consumer::{Consumer, Listener};
use crate::client::lifetime::{deadline_of, lock};
use crate::error::{Error, Result};
use crate::handle::Mode;
use crate::record::{
    kabi_config_t, kabi_consumer_t, kabi_error_t, kabi_partition_t, kabi_record_t, kabi_status_t,
    KABI_EVENT_ASSIGNMENT,
};
use std::ffi::c_char;
use std::sync::Arc;

/// Hands assignment changes to the program's handler, for as long as the object holds it.
fn listener(handlers: &Arc<Handlers>) -> Option<Listener> {
    if !handlers.has(KABI_EVENT_ASSIGNMENT) {
        return None;
    }
    let handlers = Arc::downgrade(handlers);
    Some(Box::new(move |told| {
        let handlers = handlers.upgrade()?;
        // Words in size; malloc aligns them for the partitions.
        let mut words = vec![[0u8; 8]; told.size().div_ceil(8)];
        let bytes = words.as_flattened_mut();
        let event = told.place(0, bytes)?;
        Some(handlers.call(&[event], bytes))
    }))
}

/// Makes a consumer from a configuration, which is copied and may be freed or changed after.
///
/// The consumer connects in the background. Any thread may use it; one at a time polls for records, and
/// one for events. It must be closed by kabi_consumer_close() and freed by kabi_consumer_free().
///
/// Without the property group.id it can only assign partitions, and commits nothing.
///
/// Errors: KABI_STATUS_ARGUMENT (a property does not fit another), KABI_STATUS_SYSTEM (no thread or
/// handle to be had), librdkafka's own for what it refuses.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_new(
    config: *mut kabi_config_t,
    consumer: *mut *mut kabi_consumer_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        let mut consumer = unsafe { out(consumer, "consumer") }?;
        let object = with(config, Mode::Any, |config: &ConfigObject, _| {
            let (config, handlers) = {
                let state = lock(&config.state);
                (state.config.clone(), state.handlers.clone())
            };
            let handlers = Arc::new(handlers);
            let made = Consumer::new(&config, listener(&handlers))?;
            let always = Always::new(made.events(), made.control(), handlers);
            Ok(ClientObject {
                open: Openable::new(made),
                always,
            })
        })?;
        consumer.set(insert(Object::Consumer(object))?);
        Ok(())
    })
}

/// Gives the number of a topic, which partitions and records name it by. The same name always has the
/// same number in one consumer; numbers of different clients have nothing to do with each other.
///
/// `name` is 1 to 249 ASCII letters, digits, '.', '_' and '-', and NUL-terminated.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_topic(
    consumer: *mut kabi_consumer_t,
    name: *const c_char,
    topic: *mut i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let (name, mut topic) = unsafe {
                (
                    text(name, NAME_MAX, "the topic name")?,
                    out(topic, "topic")?,
                )
            };
            topic.set(consumer.topic(name)?);
            Ok(())
        })
    })
}

/// Writes the name of the topic with this number to `buffer`, NUL-terminated, and its length without the
/// NUL to `length`. With a buffer that is too small (NULL with size 0 is allowed) the length is written
/// all the same, and KABI_STATUS_BUFFER_TOO_SMALL returned.
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_topic_name(
    consumer: *mut kabi_consumer_t,
    topic: i32,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            unsafe { write_text(consumer.topic_name(topic)?, buffer, size, length) }
        })
    })
}

/// Joins the group to share the partitions of these topics with its other members. `topics` has `count`
/// NUL-terminated texts: topic names, or regular expressions that begin with '^'. Replaces an earlier
/// subscription. The assignment comes during polls.
///
/// Errors: KABI_STATUS_UNKNOWN_GROUP without the property group.id, KABI_STATUS_STATE while partitions are
/// assigned by kabi_consumer_assign().
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_subscribe(
    consumer: *mut kabi_consumer_t,
    topics: *const *const c_char,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let names = unsafe { slice(topics, count, "topics") }?
                .iter()
                // SAFETY: by this function's contract.
                .map(|&topic| unsafe { text(topic, NAME_MAX, "a topic name") })
                .collect::<Result<Vec<&str>>>()?;
            consumer.subscribe(names.into_iter())
        })
    })
}

/// Leaves the group; what is handled is committed first, if commits are automatic. Its partitions are given
/// back at once, or, with a handler of KABI_EVENT_ASSIGNMENT or kafkabi.assignment=apply, in the next poll for
/// records. Does not wait for brokers.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_unsubscribe(
    consumer: *mut kabi_consumer_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| consumer.unsubscribe())
    })
}

/// Reads exactly these partitions, from the offsets given: 0 or more, KABI_OFFSET_BEGINNING,
/// KABI_OFFSET_END, or KABI_OFFSET_STORED or KABI_OFFSET_INVALID for where the group committed (or the
/// property auto.offset.reset says). Replaces an earlier assignment, whose records in hand can't be
/// handled any more, and whose pauses end. A count of 0 reads nothing.
///
/// A topic that the user may not see is told by an error event with KABI_STATUS_TOPIC_AUTHORIZATION_FAILED,
/// after a second or so; its records come once it is allowed. Without a group no coordinator is asked,
/// unless auto.offset.reset is error.
///
/// Errors: KABI_STATUS_STATE while topics are subscribed to, KABI_STATUS_REENTERED inside a handler of an
/// assignment change.
///
/// @nullable partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_assign(
    consumer: *mut kabi_consumer_t,
    partitions: *const kabi_partition_t,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let partitions = unsafe { partitions_of(slice(partitions, count, "partitions")?) }?;
            consumer.assign(&partitions)
        })
    })
}

/// Tells which partitions are assigned now. `count` gets how many there are, also with
/// KABI_STATUS_BUFFER_TOO_SMALL, when they are more than `capacity` and none is written. Offsets are
/// KABI_OFFSET_INVALID.
///
/// @nullable partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_assignment(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    capacity: usize,
    count: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            let keys = consumer.assignment()?;
            // SAFETY: by this function's contract.
            unsafe { write_keys(&keys, "assigned", partitions, capacity, count) }
        })
    })
}

/// Says that the first `count` records of a batch are handled: only what is handled is committed, each
/// partition up to its oldest record that is not. By default the next poll says so for all that was
/// handed out before, and this is a way to say it earlier; with the property kafkabi.handled=explicit
/// only this call does. Never takes anything back. A batch that is done, or whose partitions were moved
/// or taken away meanwhile, is no error.
///
/// `batch_number` is from kabi_batch_info_t. Any thread may call it, also with the batch freed.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_handled(
    consumer: *mut kabi_consumer_t,
    batch_number: u64,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            consumer.handled(batch_number, count)
        })
    })
}

/// Commits and waits up to `timeout_ms` for the answer. With NULL and 0: everything that is handled
/// (nothing new is a success). Else these partitions' offsets, each that of the next record to read, with
/// their metadata; `code` of each gets its own status, and the result is the first that is not 0.
///
/// Errors: KABI_STATUS_TIMED_OUT (whether it took effect is not known; repeating it does no harm),
/// KABI_STATUS_INTERRUPTED by a wake, KABI_STATUS_UNKNOWN_GROUP without the property group.id,
/// KABI_STATUS_GROUP_AUTHORIZATION_FAILED (30), within a second or two, for a group that the user may not use.
///
/// @nullable partitions
/// @inout partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_commit(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    count: usize,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            let wait = timeout(timeout_ms)?;
            if count == 0 {
                return consumer.commit_handled(wait, timeout_ms);
            }
            // SAFETY: by this function's contract.
            unsafe {
                with_codes(partitions, count, |list, status| {
                    consumer.commit(list, wait, timeout_ms, status)
                })
            }
        })
    })
}

/// Commits the record's offset + 1 for its partition and waits up to `timeout_ms` for the answer: this
/// record and all before it in its partition will not be read again. Errors as in
/// kabi_consumer_commit().
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_commit_record(
    consumer: *mut kabi_consumer_t,
    record: *const kabi_record_t,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            let wait = timeout(timeout_ms)?;
            // SAFETY: by this function's contract.
            let record = unsafe { reference(record, "record") }?;
            if record.code != 0 {
                return Err(Error::argument(
                    "an entry that tells of an error can't be committed: its code is not 0",
                ));
            }
            let next = record.offset.checked_add(1).ok_or_else(|| {
                Error::argument(format!("a record's offset is not {}", record.offset))
            })?;
            let partition = crate::client::consumer::Partition {
                key: (record.topic, record.partition),
                offset: next,
                leader_epoch: record.leader_epoch,
                metadata: None,
            };
            consumer.commit(&[partition], wait, timeout_ms, |_, _| ())
        })
    })
}

/// Moves the read positions of assigned partitions to `offset` of each: 0 or more,
/// KABI_OFFSET_BEGINNING, KABI_OFFSET_END or KABI_OFFSET_STORED. Records in hand of these partitions
/// can't be handled any more. Works right after an assign: it waits up to `timeout_ms` until the
/// partition is ready. `code` of each gets its own status, and the result is the first that is not 0.
/// KABI_OFFSET_STORED asks what is committed first; where nothing is, auto.offset.reset decides.
///
/// Inside a handler of an assignment change it works too, also for the partitions that are being assigned,
/// which then begin there.
///
/// Errors: KABI_STATUS_STATE for a partition that is not assigned.
///
/// @inout partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_seek(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    count: usize,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            let wait = timeout(timeout_ms)?;
            // SAFETY: by this function's contract.
            unsafe {
                with_codes(partitions, count, |list, status| {
                    consumer.seek(list, wait, timeout_ms, status)
                })
            }
        })
    })
}

/// Fills in `offset` of each partition: that after the last record handed out, or where the program told
/// it to begin, or KABI_OFFSET_INVALID if neither. Records that wait inside the consumer don't count. A poll
/// that finds nothing moves it past what is no record: markers of transactions, and records of aborted ones.
///
/// @inout partitions
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_position(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    count: usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            let places = unsafe { slice_mut(partitions, count, "partitions") }?;
            for place in places.iter_mut() {
                place.offset = consumer.position((place.topic, place.partition))?;
                place.code = 0;
            }
            Ok(())
        })
    })
}

/// Asks the group's coordinator what is committed, and fills in `offset` (KABI_OFFSET_INVALID: nothing),
/// `leader_epoch`, `code` and the metadata of each partition. Waits up to `timeout_ms`.
///
/// Metadata is written to `bytes`, where each partition's `metadata` then points. `bytes_used`, if not
/// NULL, gets how many were written, or are needed with KABI_STATUS_BUFFER_TOO_SMALL.
///
/// Errors: as in kabi_consumer_commit().
///
/// @inout partitions
/// @nullable bytes, bytes_used
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_committed(
    consumer: *mut kabi_consumer_t,
    partitions: *mut kabi_partition_t,
    count: usize,
    timeout_ms: i32,
    bytes: *mut u8,
    bytes_size: usize,
    bytes_used: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            let wait = timeout(timeout_ms)?;
            // SAFETY: by this function's contract.
            let (places, bytes, used) = unsafe {
                (
                    slice_mut(partitions, count, "partitions")?,
                    slice_mut(bytes, bytes_size, "bytes")?,
                    super::arguments::out_optional(bytes_used, "bytes_used")?,
                )
            };
            let answers = consumer.committed(&keys_of(places), wait, timeout_ms)?;
            super::partitions::write_committed(places, &answers, bytes, used)
        })
    })
}

/// Closes: commits what is handled, if commits are automatic, and leaves the group, all within
/// `timeout_ms` (-1: for ever). Nothing of the batch in hand counts as handled, unless it was said.
/// Calls in progress end with KABI_STATUS_CLOSED, and so does every call after, but for serve, drain and
/// event_fd, which work on until the last event is drained. Batches stay valid until they are freed.
/// No handler runs inside; an assignment event tells of the partitions that are given back.
///
/// KABI_STATUS_TIMED_OUT says that the time was up: the rest goes on in the background; the message says
/// if offsets of handled records are not saved. Another error, such as
/// KABI_STATUS_GROUP_AUTHORIZATION_FAILED, says that they could not be saved; it is closed all the same.
/// Closing a closed consumer is a success. KABI_STATUS_REENTERED inside a handler that a poll for records runs.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_close(
    consumer: *mut kabi_consumer_t,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(
            consumer,
            Mode::Any,
            |object: &ClientObject<Consumer>, guard| {
                let deadline = deadline_of(timeout(timeout_ms)?);
                let polling = with_open(consumer, |consumer: &Consumer, _| {
                    Ok(consumer.is_polled_by_this_thread())
                });
                if polling == Ok(true) {
                    return Err(Error::new(
                    crate::status::KABI_STATUS_REENTERED,
                    "close inside a handler that a poll for records runs would wait for that poll",
                ));
                }
                let open = take_open(object, guard, deadline, Consumer::begin_close)
                    .ok_or_else(|| Error::timed_out("waiting for calls in progress", timeout_ms))?;
                open.map_or(Ok(()), |consumer| consumer.finish(deadline, timeout_ms))
            },
        )
    })
}

/// Frees the consumer. The handle is stale at once and may be NULL or stale already; never blocks.
/// Waits of other threads inside of it end with KABI_STATUS_CLOSED.
///
/// Without a close before it, what is handled is committed and the group left in the background. Inside
/// a handler of this consumer the free takes effect when the poll ends. Batches stay valid until they
/// are freed.
///
/// @nullable consumer
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_free(consumer: *mut kabi_consumer_t) {
    quiet((), || {
        free_client::<_, Consumer>(consumer, Consumer::begin_close)
    });
}
