//! Consumers: records and events, and batches of records.

use super::arguments::{out, slice_mut, timeout};
use super::boundary::{call, quiet};
use super::events::{self, Target};
use super::handles::{remove, reserve, with, with_open, Always, ClientObject, Object};
use crate::client::consumer::{Consumer, HeldBatch, PackedBatch};
use crate::error::{Error, Result};
use crate::handle::Mode;
use crate::record::{
    kabi_batch_info_t, kabi_batch_t, kabi_consumer_t, kabi_error_t, kabi_event_t, kabi_header_t,
    kabi_status_t,
};
use crate::status::{KABI_STATUS_BUFFER_TOO_SMALL, KABI_STATUS_BUSY, KABI_STATUS_REENTERED};
use std::ffi::c_void;

/// Runs the handlers of events that are there, inside a poll for records. Somebody else who drains
/// events already does as well.
fn dispatch(always: &Always) -> Result<()> {
    if !always.handlers.any() {
        return Ok(());
    }
    match events::poll_now(always) {
        Err(e) if matches!(e.code, KABI_STATUS_BUSY | KABI_STATUS_REENTERED) => Ok(()),
        other => other,
    }
}

/// Polls for records and hands out up to `max_records` of them as views into a batch, which the program
/// frees by kabi_batch_free(), in any order with others, before or after the consumer's close. Waits up
/// to `timeout_ms` for the first record (-1: for ever, 0: not at all). With none the status is 0, `batch`
/// gets NULL and the count is 0.
///
/// What earlier polls handed out counts as handled from here on, unless the property kafkabi.handled is
/// explicit. Handlers of events that wait run inside, on this thread. End of a partition (with the property
/// enable.partition.eof) and a partition's errors come as entries whose `code` is not 0, and so do errors of
/// no partition that concern reading, with the topic -1; passing ones, such as a coordinator that moves, are
/// events of the kind KABI_EVENT_ERROR instead. A damaged batch of records, or one that fails the checksum that
/// check.crcs asks for, ends in an entry with KABI_STATUS_BAD_MSG or KABI_STATUS_BAD_COMPRESSION, which tells the
/// offsets that are passed over; the next batch is read on.
///
/// Changes of the assignment that the group decides happen inside, before any record of the new assignment;
/// no record of a partition that was taken away comes after. A handler of KABI_EVENT_ASSIGNMENT meets each
/// one first (its code is a KABI_ASSIGNMENT_* number, its token the generation that begins): in it the
/// program may seek, pause, store, commit and ask for positions; what it seeks of the partitions that are
/// being assigned is where they begin. When it returns the change is applied, also if it returns not 0,
/// which ends the poll. Without a handler the change is applied at once and an event tells of it. Both only
/// if the event mask has the kind. With kafkabi.assignment=apply the poll returns with nothing instead, and
/// gives KABI_STATUS_STATE until kabi_consumer_assignment_apply().
///
/// A program that does not poll for max.poll.interval.ms loses its partitions: an entry with the code
/// KABI_STATUS_MAX_POLL_EXCEEDED says so, and polling on joins the group again.
///
/// Errors: KABI_STATUS_INTERRUPTED (a wake), KABI_STATUS_BUSY (another thread polls for records),
/// KABI_STATUS_REENTERED (inside a handler that such a poll runs), KABI_STATUS_CALLBACK_FAILED (a handler
/// returned not 0; no record is lost), KABI_STATUS_STATE (a change waits to be applied), KABI_STATUS_CLOSED,
/// KABI_STATUS_SYSTEM (no handle is left for the batch; nothing was handed out), and a fatal error with its
/// own code.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_poll(
    consumer: *mut kabi_consumer_t,
    max_records: usize,
    timeout_ms: i32,
    batch: *mut *mut kabi_batch_t,
    info: *mut kabi_batch_info_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, always| {
            // SAFETY: by this function's contract.
            let (mut batch, mut info) = unsafe { (out(batch, "batch")?, out(info, "info")?) };
            batch.set(std::ptr::null_mut());
            info.set(kabi_batch_info_t::default());
            let wait = timeout(timeout_ms)?;
            // Before anything is pulled that would be lost without a handle.
            let place = reserve()?;
            let Some(held) = consumer.poll(max_records, wait, || dispatch(always))? else {
                return Ok(());
            };
            let views = held.views();
            let told = kabi_batch_info_t {
                number: held.number,
                generation: held.generation,
                records: views.as_ptr(),
                count: views.len(),
                ..Default::default()
            };
            batch.set(place.fill(Object::Batch(held)));
            info.set(told);
            Ok(())
        })
    })
}

/// Polls for records and packs up to `max_records` of them into `buffer`, as many as fit: each is a
/// kabi_packed_t with what follows it. `buffer` is aligned to 8 bytes. `info` tells how many there are
/// and how many bytes they take; there is no batch to free. Otherwise like kabi_consumer_poll().
///
/// If not even the first record fits, KABI_STATUS_BUFFER_TOO_SMALL is returned, `size` of `info` is what
/// it needs, and it stays first in line.
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_poll_packed(
    consumer: *mut kabi_consumer_t,
    max_records: usize,
    timeout_ms: i32,
    buffer: *mut c_void,
    size: usize,
    info: *mut kabi_batch_info_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, always| {
            // SAFETY: by this function's contract. The elements have the alignment that is asked for.
            let (words, mut info) = unsafe {
                (
                    slice_mut(buffer.cast::<u64>(), size / 8, "buffer")?,
                    out(info, "info")?,
                )
            };
            info.set(kabi_batch_info_t::default());
            // SAFETY: the same memory by the byte.
            let bytes = unsafe {
                std::slice::from_raw_parts_mut(words.as_mut_ptr().cast::<u8>(), words.len() * 8)
            };
            let wait = timeout(timeout_ms)?;
            let mut packed = PackedBatch::default();
            let outcome =
                consumer.poll_packed(max_records, wait, bytes, &mut packed, || dispatch(always));
            info.set(kabi_batch_info_t {
                number: packed.number,
                generation: packed.generation,
                count: packed.count,
                size: packed.size,
                ..Default::default()
            });
            outcome
        })
    })
}

/// Hands events to the handlers, on this thread, without touching records: waits up to `timeout_ms` for
/// the first (-1: for ever, 0: not at all), then hands over what is there. `count`, if not NULL, gets how
/// many that were; none is a success. Events of a kind without a handler are dropped.
///
/// Works after a close until the last event is handed over. Errors as in kabi_producer_poll().
///
/// @nullable count
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_serve(
    consumer: *mut kabi_consumer_t,
    timeout_ms: i32,
    count: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(
            consumer,
            Mode::Any,
            |consumer: &ClientObject<Consumer>, _| {
                // SAFETY: by this function's contract.
                unsafe { events::poll(&consumer.always, timeout_ms, count) }
            },
        )
    })
}

/// Copies up to `capacity` events to `events`, and their texts to `bytes`, exactly as
/// kabi_producer_drain() does.
///
/// @nullable events, bytes, bytes_used
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_drain(
    consumer: *mut kabi_consumer_t,
    timeout_ms: i32,
    events: *mut kabi_event_t,
    capacity: usize,
    count: *mut usize,
    bytes: *mut u8,
    bytes_size: usize,
    bytes_used: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(
            consumer,
            Mode::Any,
            |consumer: &ClientObject<Consumer>, _| {
                let target = Target {
                    events,
                    capacity,
                    count,
                    bytes,
                    bytes_size,
                    bytes_used,
                };
                // SAFETY: by this function's contract.
                unsafe { events::drain(&consumer.always, timeout_ms, &target) }
            },
        )
    })
}

/// Gives a descriptor that is readable while there are records, assignment changes or events to take (and
/// after the close, for good), for the program's event loop. After it became readable, poll with a
/// time-out of 0 until nothing comes. It is the consumer's: don't read, write or close it; it goes with
/// kabi_consumer_free().
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_event_fd(
    consumer: *mut kabi_consumer_t,
    fd: *mut i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        let mut fd = unsafe { out(fd, "fd") }?;
        // While it is open, records are to signal too; after, only events are left.
        let _ = with_open(consumer, |consumer: &Consumer, _| consumer.signal_records());
        with(
            consumer,
            Mode::Any,
            |consumer: &ClientObject<Consumer>, _| {
                fd.set(consumer.always.events.descriptor()?.fd());
                Ok(())
            },
        )
    })
}

/// Ends the poll for records and the poll or drain of events in progress, or else the next one of each,
/// and commits, seeks and questions in progress, with KABI_STATUS_INTERRUPTED. Several wakes that
/// nothing has seen yet count as one. Safe to call from any thread, but not from a signal handler: write
/// to a pipe there.
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_wake(
    consumer: *mut kabi_consumer_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            consumer.wake();
            Ok(())
        })
    })
}

/// Gives the headers of record `index` of a batch, in order. `count` gets how many it has, also with
/// KABI_STATUS_BUFFER_TOO_SMALL, when they are more than `capacity`. Names and values are valid as long
/// as the batch; names are NUL-terminated and, since other clients may write what they like, not
/// necessarily UTF-8.
///
/// @nullable headers
#[no_mangle]
pub unsafe extern "C" fn kabi_batch_headers(
    batch: *mut kabi_batch_t,
    index: usize,
    headers: *mut kabi_header_t,
    capacity: usize,
    count: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(batch, Mode::Any, |batch: &HeldBatch, _| {
            // SAFETY: by this function's contract.
            let (places, mut count) = unsafe {
                (
                    slice_mut(headers, capacity, "headers")?,
                    out(count, "count")?,
                )
            };
            let mut found = 0;
            batch.headers(index, |name, value| {
                if let Some(place) = places.get_mut(found) {
                    *place = kabi_header_t {
                        name: name.as_ptr(),
                        name_length: i64::try_from(name.count_bytes()).unwrap_or(i64::MAX),
                        value: value.map_or(std::ptr::null(), |v| v.as_ptr().cast()),
                        value_length: value.map_or(0, |v| i64::try_from(v.len()).unwrap_or(0)),
                    };
                }
                found += 1;
            })?;
            count.set(found);
            if found > places.len() {
                return Err(Error::new(
                    KABI_STATUS_BUFFER_TOO_SMALL,
                    format!("the record has {found} headers, there is room for {capacity}"),
                ));
            }
            Ok(())
        })
    })
}

/// Writes the id of the broker that record `index` of a batch came from to `broker`: the partition's leader, or
/// the follower that was read from. -1 if it is not known, as for some entries.
///
/// Errors: KABI_STATUS_ARGUMENT (the batch has no such record).
#[no_mangle]
pub unsafe extern "C" fn kabi_batch_broker(
    batch: *mut kabi_batch_t,
    index: usize,
    broker: *mut i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(batch, Mode::Any, |batch: &HeldBatch, _| {
            // SAFETY: by this function's contract.
            let mut broker = unsafe { out(broker, "broker") }?;
            broker.set(batch.broker(index)?);
            Ok(())
        })
    })
}

/// Frees a batch: its records' pointers are invalid from here on. Says nothing about whether they are
/// handled. The handle may be NULL or stale. Any thread may call it.
///
/// @nullable batch
#[no_mangle]
pub unsafe extern "C" fn kabi_batch_free(batch: *mut kabi_batch_t) {
    quiet((), || remove(batch));
}
