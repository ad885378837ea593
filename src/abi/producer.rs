//! Producers: sending records and what becomes of them.

use super::arguments::{out, out_optional, text, timeout, write_text, NAME_MAX};
use super::boundary::{call, quiet};
use super::events::{self, Target};
use super::handles::{
    free_client, insert, take_open, with, with_open, Always, ClientObject, ConfigObject, Inside,
    Object,
};
use super::openable::Openable;
use crate::client::lifetime::{deadline_of, lock};
use crate::client::producer::Producer;
use crate::error::{Error, Result};
use crate::handle::Mode;
use crate::record::{kabi_config_t, kabi_error_t, kabi_event_t, kabi_producer_t, kabi_status_t};
use std::ffi::c_char;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// Makes a producer from a configuration, which is copied and may be freed or changed after.
///
/// The producer connects in the background. It must be closed by kabi_producer_close(), which waits for
/// what was sent, and freed by kabi_producer_free(). Any thread may use it, several at once.
///
/// Errors: KABI_STATUS_ARGUMENT (a property does not fit another), KABI_STATUS_SYSTEM (no thread or
/// handle to be had), librdkafka's own for what it refuses.
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_new(
    config: *mut kabi_config_t,
    producer: *mut *mut kabi_producer_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        let mut producer = unsafe { out(producer, "producer") }?;
        producer.set(std::ptr::null_mut());
        let object = with(config, Mode::Any, |config: &ConfigObject, _| {
            let (config, handlers) = {
                let state = lock(&config.state);
                (state.config.clone(), state.handlers.clone())
            };
            let made = Producer::new(&config)?;
            let always = Always::new(made.events(), made.control(), handlers);
            Ok(ClientObject {
                open: Openable::new(made),
                always,
            })
        })?;
        producer.set(insert(Object::Producer(object))?);
        Ok(())
    })
}

/// Gives the number of a topic, which records name it by. The same name always has the same number in
/// one producer; numbers of different clients have nothing to do with each other. The topic need not
/// exist: whether it is created is up to the brokers.
///
/// `name` is 1 to 249 ASCII letters, digits, '.', '_' and '-', and NUL-terminated.
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_topic(
    producer: *mut kabi_producer_t,
    name: *const c_char,
    topic: *mut i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            // SAFETY: by this function's contract.
            let (name, mut topic) = unsafe {
                (
                    text(name, NAME_MAX, "the topic name")?,
                    out(topic, "topic")?,
                )
            };
            topic.set(producer.topic(name)?);
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
pub unsafe extern "C" fn kabi_producer_topic_name(
    producer: *mut kabi_producer_t,
    topic: i32,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            // SAFETY: by this function's contract.
            unsafe { write_text(producer.topic_name(topic)?, buffer, size, length) }
        })
    })
}

/// Waits until every accepted record has its report, sending without lingering meanwhile.
///
/// `failed`, if not NULL, gets how many records failed since the last flush that returned 0; with
/// reports off this is the way to learn of them. Reports need not be drained for a flush to end.
///
/// Errors: KABI_STATUS_TIMED_OUT after `timeout_ms` (-1: never; calling again goes on),
/// KABI_STATUS_INTERRUPTED by kabi_producer_wake(), KABI_STATUS_CLOSED by a close meanwhile.
///
/// @nullable failed
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_flush(
    producer: *mut kabi_producer_t,
    timeout_ms: i32,
    failed: *mut u64,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            // SAFETY: by this function's contract.
            let failed = unsafe { out_optional(failed, "failed") }?;
            let count = producer.flush(timeout(timeout_ms)?, timeout_ms)?;
            if let Some(mut failed) = failed {
                failed.set(count);
            }
            Ok(())
        })
    })
}

/// Gives records up: those still queued (KABI_PURGE_QUEUED), those on their way to a broker
/// (KABI_PURGE_IN_FLIGHT), or both. Each gets its report, with KABI_STATUS_PURGE_QUEUE or
/// KABI_STATUS_PURGE_INFLIGHT. Does not wait.
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_purge(
    producer: *mut kabi_producer_t,
    what: u32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| producer.purge(what))
    })
}

/// Hands events to the handlers, on this thread: waits up to `timeout_ms` for the first (-1: for ever, 0:
/// not at all), then hands over what is there. `count`, if not NULL, gets how many that were; none is a
/// success. Events of a kind without a handler are dropped.
///
/// Works after a close until the last event is handed over.
///
/// Errors: KABI_STATUS_CALLBACK_FAILED (a handler returned not 0; events that were not handed over stay
/// queued), KABI_STATUS_INTERRUPTED (a wake), KABI_STATUS_BUSY (another thread polls or drains),
/// KABI_STATUS_REENTERED (inside a handler), KABI_STATUS_CLOSED (closed and nothing left).
///
/// @nullable count
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_poll(
    producer: *mut kabi_producer_t,
    timeout_ms: i32,
    count: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(
            producer,
            Mode::Any,
            |producer: &ClientObject<Producer>, _| {
                // SAFETY: by this function's contract.
                unsafe { events::poll(&producer.always, timeout_ms, count) }
            },
        )
    })
}

/// Copies up to `capacity` events to `events`, and their texts to `bytes`: waits up to `timeout_ms` for
/// the first, then takes what is there. `count` gets how many were copied; none is a success.
/// `bytes_used`, if not NULL, gets how many bytes were written.
///
/// If the first event's text does not fit in `bytes_size` bytes, KABI_STATUS_BUFFER_TOO_SMALL is
/// returned, `bytes_used` gets the size that it needs, and it stays first. Reports need no bytes.
///
/// Works after a close until the last event is copied. Other errors as in kabi_producer_poll().
///
/// @nullable events, bytes, bytes_used
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_drain(
    producer: *mut kabi_producer_t,
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
            producer,
            Mode::Any,
            |producer: &ClientObject<Producer>, _| {
                let target = Target {
                    events,
                    capacity,
                    count,
                    bytes,
                    bytes_size,
                    bytes_used,
                };
                // SAFETY: by this function's contract.
                unsafe { events::drain(&producer.always, timeout_ms, &target) }
            },
        )
    })
}

/// Gives a descriptor that is readable while there are events to drain (and after the close, for good),
/// for the program's event loop. It is the producer's: don't read, write or close it; it goes with
/// kabi_producer_free().
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_event_fd(
    producer: *mut kabi_producer_t,
    fd: *mut i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(
            producer,
            Mode::Any,
            |producer: &ClientObject<Producer>, _| {
                // SAFETY: by this function's contract.
                let mut fd = unsafe { out(fd, "fd") }?;
                fd.set(producer.always.events.descriptor()?.fd());
                Ok(())
            },
        )
    })
}

/// Ends the poll or drain in progress, or else the next one, and flushes and waiting sends in progress,
/// with KABI_STATUS_INTERRUPTED. Several wakes that nothing has seen yet count as one. Safe to call from
/// any thread, but not from a signal handler: write to a pipe there.
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_wake(
    producer: *mut kabi_producer_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            producer.wake();
            Ok(())
        })
    })
}

/// Closes: waits up to `timeout_ms` (-1: for ever) until every accepted record has its report, gives up
/// the rest (their reports say so), and ends the producer's threads. Calls in progress end with
/// KABI_STATUS_CLOSED, and so does every call after, but for poll, drain and event_fd, which work on
/// until the last event is drained.
///
/// `undelivered`, if not NULL, gets how many records were given up or failed meanwhile (with reports off:
/// since the last flush that returned 0). A transaction that is open is aborted first, one that is being
/// committed is waited for; if that fails the error says so, and the coordinator aborts what is open after
/// transaction.timeout.ms. KABI_STATUS_TIMED_OUT says that the time was up: the records are given up already, and
/// calling again only waits for the threads to end. Closing a closed producer is a success.
///
/// @nullable undelivered
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_close(
    producer: *mut kabi_producer_t,
    timeout_ms: i32,
    undelivered: *mut u64,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(
            producer,
            Mode::Any,
            |object: &ClientObject<Producer>, guard| {
                // SAFETY: by this function's contract.
                let undelivered = unsafe { out_optional(undelivered, "undelivered") }?;
                let deadline = deadline_of(timeout(timeout_ms)?);
                let outcome = close(object, guard, deadline, timeout_ms);
                if let Some(mut undelivered) = undelivered {
                    undelivered.set(object.always.undelivered.load(Ordering::SeqCst));
                }
                outcome
            },
        )
    })
}

fn close(
    object: &ClientObject<Producer>,
    guard: &Inside,
    deadline: Option<Instant>,
    timeout_ms: i32,
) -> Result<()> {
    let always = &object.always;
    let open = take_open(object, guard, deadline, Producer::begin_close)
        .ok_or_else(|| Error::timed_out("waiting for calls in progress", timeout_ms))?;
    let mut gave_up = false;
    if let Some(producer) = open {
        let finish = producer.finish(timeout(timeout_ms)?, deadline);
        always
            .undelivered
            .store(finish.undelivered, Ordering::SeqCst);
        finish.transaction.map_err(|e| Error {
            message: format!(
                "close: the transaction is left to its coordinator: {}",
                e.message
            ),
            ..e
        })?;
        gave_up = finish.gave_up;
    }
    if always.control.wait_for_end(deadline) && !gave_up {
        return Ok(());
    }
    let undelivered = always.undelivered.load(Ordering::SeqCst);
    let error = Error::timed_out("close", timeout_ms);
    let message = format!(
        "{}; {undelivered} records were not delivered",
        error.message
    );
    Err(Error { message, ..error })
}

/// Frees the producer. The handle is stale at once and may be NULL or stale already; never blocks.
/// Waits of other threads inside of it end with KABI_STATUS_CLOSED.
///
/// Without a close before it, what was sent is flushed in the background within message.timeout.ms, and
/// a line on stderr tells how many records were not delivered; their reports are lost. Inside a handler
/// of this producer the free takes effect when the poll ends.
///
/// @nullable producer
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_free(producer: *mut kabi_producer_t) {
    quiet((), || {
        free_client::<_, Producer>(producer, Producer::begin_close)
    });
}
