//! What clients tell of themselves on demand.

use super::arguments::write_text;
use super::boundary::call;
use super::handles::{alive, with_open};
use crate::client::admin::Admin;
use crate::client::consumer::Consumer;
use crate::client::producer::Producer;
use crate::record::{kabi_admin_t, kabi_consumer_t, kabi_error_t, kabi_producer_t, kabi_status_t};
use std::ffi::c_char;

/// Writes figures about a producer to `buffer`, as a JSON document, NUL-terminated, and its length without
/// the NUL to `length`. Does not wait, and asks no broker.
///
/// "librdkafka" is librdkafka's own statistics (described in its STATISTICS.md), the latest that it has
/// made: it makes them every statistics.interval.ms and not on demand, so without that property, and
/// before the first interval is over, it is null. "kafkabi" is an object of numbers since the producer was
/// made: "client" ("producer"); "events" with "channel_depth" (chunks of reports and other events that
/// wait to be drained), "drained" and "errors" (events so far), "slots" (the property kafkabi.events.max)
/// and "slots_free" (how many records and requests can be owed an event more); "records" with "accepted",
/// "delivered" (null without KABI_EVENT_REPORT) and "failed"; "handles_alive" (of the whole process). Its
/// schema is api/metrics.schema.json.
///
/// With a buffer that is too small (NULL with size 0 is allowed) the length is written all the same, and
/// KABI_STATUS_BUFFER_TOO_SMALL returned; the next document may be longer.
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_metrics(
    producer: *mut kabi_producer_t,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            // SAFETY: by this function's contract.
            unsafe { write_text(&producer.metrics(alive()), buffer, size, length) }
        })
    })
}

/// As kabi_producer_metrics(), for a consumer: "client" is "consumer", and in place of "records" there is
/// "batches_alive" (batches that were not freed).
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_consumer_metrics(
    consumer: *mut kabi_consumer_t,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(consumer, |consumer: &Consumer, _| {
            // SAFETY: by this function's contract.
            unsafe { write_text(&consumer.metrics(alive()), buffer, size, length) }
        })
    })
}

/// As kabi_producer_metrics(), for an admin: "client" is "admin", and there are no "records".
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_metrics(
    admin: *mut kabi_admin_t,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| {
            // SAFETY: by this function's contract.
            unsafe { write_text(&admin.metrics(alive()), buffer, size, length) }
        })
    })
}
