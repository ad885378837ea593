//! Admins: what they are made of and how they end, and their events. Requests are in admin_request.

use super::arguments::{out, timeout};
use super::boundary::{call, quiet};
use super::events::{self, Target};
use super::handlers::Handlers;
use super::handles::{
    free_client, insert, take_open, with, with_open, Always, ClientObject, ConfigObject, Inside,
    Object,
};
use super::openable::Openable;
use crate::client::admin::Admin;
use crate::client::consumer::Consumer;
use crate::client::lifetime::{deadline_of, lock};
use crate::client::producer::Producer;
use crate::error::{Error, Result};
use crate::handle::Mode;
use crate::record::{
    kabi_admin_t, kabi_config_t, kabi_consumer_t, kabi_error_t, kabi_event_t, kabi_producer_t,
    kabi_status_t,
};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::Instant;

fn object_of(admin: Admin, handlers: impl Into<Arc<Handlers>>) -> Object {
    let always = Always::new(admin.events(), admin.control(), handlers);
    Object::Admin(ClientObject {
        open: Openable::new(admin),
        always,
    })
}

/// Makes an admin with a client of its own from a configuration, which is copied and may be freed or
/// changed after. Properties that only producers or consumers read are left alone.
///
/// It must be closed by kabi_admin_close() and freed by kabi_admin_free(). Any thread may use it, several
/// at once.
///
/// Errors: KABI_STATUS_ARGUMENT (a property does not fit another), KABI_STATUS_SYSTEM (no thread or
/// handle to be had), librdkafka's own for what it refuses.
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_new(
    config: *mut kabi_config_t,
    admin: *mut *mut kabi_admin_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        let mut admin = unsafe { out(admin, "admin") }?;
        admin.set(std::ptr::null_mut());
        let object = with(config, Mode::Any, |config: &ConfigObject, _| {
            let (config, handlers) = {
                let state = lock(&config.state);
                (state.config.clone(), state.handlers.clone())
            };
            Ok(object_of(Admin::new(&config)?, handlers))
        })?;
        admin.set(insert(object)?);
        Ok(())
    })
}

/// Makes an admin on top of a producer: it uses the producer's connections, its event mask and its
/// handlers, and has events of its own, of finished requests only (at most 1,024 wait).
///
/// It is closed and freed like any other; that leaves the producer alone. Closing or freeing the producer
/// ends it: requests under way are given up, and every call gives KABI_STATUS_CLOSED but for poll, drain
/// and event_fd, which work on until the last event is drained.
///
/// Errors: KABI_STATUS_SYSTEM (no thread or handle to be had).
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_of_producer(
    producer: *mut kabi_producer_t,
    admin: *mut *mut kabi_admin_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        let mut admin = unsafe { out(admin, "admin") }?;
        admin.set(std::ptr::null_mut());
        let object = with_open(producer, |producer: &Producer, always| {
            Ok(object_of(
                Admin::on(producer.base())?,
                Arc::clone(&always.handlers),
            ))
        })?;
        admin.set(insert(object)?);
        Ok(())
    })
}

/// Makes an admin on top of a consumer, in all as kabi_admin_of_producer() does on top of a producer.
/// It may be used while another thread polls the consumer.
///
/// Errors: KABI_STATUS_SYSTEM (no thread or handle to be had).
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_of_consumer(
    consumer: *mut kabi_consumer_t,
    admin: *mut *mut kabi_admin_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        let mut admin = unsafe { out(admin, "admin") }?;
        admin.set(std::ptr::null_mut());
        let object = with_open(consumer, |consumer: &Consumer, always| {
            Ok(object_of(
                Admin::on(consumer.base())?,
                Arc::clone(&always.handlers),
            ))
        })?;
        admin.set(insert(object)?);
        Ok(())
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
pub unsafe extern "C" fn kabi_admin_poll(
    admin: *mut kabi_admin_t,
    timeout_ms: i32,
    count: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(admin, Mode::Any, |admin: &ClientObject<Admin>, _| {
            // SAFETY: by this function's contract.
            unsafe { events::poll(&admin.always, timeout_ms, count) }
        })
    })
}

/// Copies up to `capacity` events to `events`, and their texts to `bytes`: waits up to `timeout_ms` for
/// the first, then takes what is there. `count` gets how many were copied; none is a success.
/// `bytes_used`, if not NULL, gets how many bytes were written.
///
/// If the first event's text does not fit in `bytes_size` bytes, KABI_STATUS_BUFFER_TOO_SMALL is
/// returned, `bytes_used` gets the size that it needs, and it stays first.
///
/// Works after a close until the last event is copied. Other errors as in kabi_admin_poll().
///
/// @nullable events, bytes, bytes_used
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_drain(
    admin: *mut kabi_admin_t,
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
        with(admin, Mode::Any, |admin: &ClientObject<Admin>, _| {
            let target = Target {
                events,
                capacity,
                count,
                bytes,
                bytes_size,
                bytes_used,
            };
            // SAFETY: by this function's contract.
            unsafe { events::drain(&admin.always, timeout_ms, &target) }
        })
    })
}

/// Gives a descriptor that is readable while there are events to drain (and after the close, for good),
/// for the program's event loop. It is the admin's: don't read, write or close it; it goes with
/// kabi_admin_free().
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_event_fd(
    admin: *mut kabi_admin_t,
    fd: *mut i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(admin, Mode::Any, |admin: &ClientObject<Admin>, _| {
            // SAFETY: by this function's contract.
            let mut fd = unsafe { out(fd, "fd") }?;
            fd.set(admin.always.events.descriptor()?.fd());
            Ok(())
        })
    })
}

/// Ends the poll or drain in progress, or else the next one, and waits for outcomes in progress, with
/// KABI_STATUS_INTERRUPTED. The requests go on. Several wakes that nothing has seen yet count as one. Safe
/// to call from any thread, but not from a signal handler: write to a pipe there.
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_wake(
    admin: *mut kabi_admin_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(admin, |admin: &Admin, _| {
            admin.wake();
            Ok(())
        })
    })
}

/// Closes: waits up to `timeout_ms` (-1: for ever) until every request under way is answered, gives up the
/// rest (their events say KABI_STATUS_CLOSED, with KABI_ERROR_OUTCOME_UNKNOWN), and ends the admin's
/// threads. Calls in progress end with KABI_STATUS_CLOSED, and so does every call after, but for poll,
/// drain and event_fd, which work on until the last event is drained. Outcomes that were kept and not
/// fetched are gone.
///
/// KABI_STATUS_TIMED_OUT says that the time was up: requests are given up already, and calling again only
/// waits for the threads to end. Closing a closed admin is a success.
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_close(
    admin: *mut kabi_admin_t,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(admin, Mode::Any, |object: &ClientObject<Admin>, guard| {
            let deadline = deadline_of(timeout(timeout_ms)?);
            close(object, guard, deadline, timeout_ms)
        })
    })
}

fn close(
    object: &ClientObject<Admin>,
    guard: &Inside,
    deadline: Option<Instant>,
    timeout_ms: i32,
) -> Result<()> {
    let always = &object.always;
    let open = take_open(object, guard, deadline, Admin::begin_close)
        .ok_or_else(|| Error::timed_out("waiting for calls in progress", timeout_ms))?;
    let mut gave_up = false;
    if let Some(admin) = open {
        let given_up = admin.finish(deadline);
        always.undelivered.store(given_up as u64, Ordering::SeqCst);
        gave_up = given_up > 0;
    }
    if always.control.wait_for_end(deadline) && !gave_up {
        return Ok(());
    }
    let given_up = always.undelivered.load(Ordering::SeqCst);
    let error = Error::timed_out("close", timeout_ms);
    let message = format!(
        "{}; {given_up} requests were given up without an answer",
        error.message
    );
    Err(Error { message, ..error })
}

/// Frees the admin. The handle is stale at once and may be NULL or stale already; never blocks.
/// Waits of other threads inside of it end with KABI_STATUS_CLOSED.
///
/// Without a close before it, requests under way go on in the background for some seconds; their outcomes
/// are lost. Inside a handler of this admin the free takes effect when the poll ends.
///
/// @nullable admin
#[no_mangle]
pub unsafe extern "C" fn kabi_admin_free(admin: *mut kabi_admin_t) {
    quiet((), || free_client::<_, Admin>(admin, Admin::begin_close));
}
