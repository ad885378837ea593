//! Configurations: properties by name, the event mask and the handlers.

use super::arguments::{out, text, write_text, NAME_MAX, VALUE_MAX};
use super::boundary::{call, quiet};
use super::handles::{insert, remove, with, ConfigObject, Object};
use crate::client::config::{describe, known_events};
use crate::client::lifetime::lock;
use crate::error::{Error, Result};
use crate::handle::Mode;
use crate::record::{
    kabi_config_t, kabi_error_t, kabi_event_handler_t, kabi_finalizer_t, kabi_status_t,
};
use crate::status::{KABI_STATUS_BUFFER_TOO_SMALL, KABI_STATUS_NOENT};
use std::ffi::{c_char, c_void};
use std::sync::Mutex;

/// Makes an empty configuration: every property has its default, the event mask is
/// KABI_EVENT_DEFAULT, and there are no handlers.
///
/// It is freed by kabi_config_free(). Any thread may use it, several at once.
///
/// Errors: KABI_STATUS_SYSTEM (no handle is left).
#[no_mangle]
pub unsafe extern "C" fn kabi_config_new(
    config: *mut *mut kabi_config_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        let mut config = unsafe { out(config, "config") }?;
        config.set(std::ptr::null_mut());
        let state = Mutex::default();
        config.set(insert(Object::Config(ConfigObject { state }))?);
        Ok(())
    })
}

/// Frees a configuration. Clients made from it have copies and work on; finalizers of user pointers
/// run now, on this thread, unless such a client holds them still.
///
/// NULL and handles that were freed already are left alone.
///
/// @nullable config
#[no_mangle]
pub unsafe extern "C" fn kabi_config_free(config: *mut kabi_config_t) {
    quiet((), || remove(config));
}

/// Sets a property: one of librdkafka's or of kafkabi's own, as kabi_config_describe() lists them.
///
/// `name` and `value` are NUL-terminated UTF-8 and are copied. Name and value are checked now, so an
/// error comes from the call that made it, and leaves the configuration as it was. Of several names
/// for one property (aliases) the one set last holds. Properties of producers may be set in a
/// configuration for consumers and the other way round: clients take what is theirs.
///
/// Errors: KABI_STATUS_ARGUMENT; the message names the property, the name that was likely meant, or
/// the values that are allowed, or says what to use instead of a property that kafkabi manages. It
/// never holds the value of a secret.
#[no_mangle]
pub unsafe extern "C" fn kabi_config_set(
    config: *mut kabi_config_t,
    name: *const c_char,
    value: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(config, Mode::Any, |config: &ConfigObject, _| {
            // SAFETY: by this function's contract.
            let (name, value) = unsafe {
                (
                    text(name, NAME_MAX, "the property name")?,
                    text(value, VALUE_MAX, "the property value")?,
                )
            };
            lock(&config.state).config.set(name, value)
        })
    })
}

/// Writes a property's value to `buffer`, NUL-terminated, and its length without the NUL to
/// `length`: what was set, secrets too, or else the default in force.
///
/// With a buffer that is too small (NULL with size 0 is allowed) the length is written all the same,
/// and KABI_STATUS_BUFFER_TOO_SMALL returned. A property that has no value gives KABI_STATUS_NOENT,
/// length 0 and an empty text.
///
/// Errors: KABI_STATUS_ARGUMENT (no such property), KABI_STATUS_NOENT, KABI_STATUS_BUFFER_TOO_SMALL.
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_config_get(
    config: *mut kabi_config_t,
    name: *const c_char,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(config, Mode::Any, |config: &ConfigObject, _| {
            // SAFETY: by this function's contract.
            let name = unsafe { text(name, NAME_MAX, "the property name") }?;
            let value = lock(&config.state).config.get(name)?;
            // SAFETY: by this function's contract.
            let write = |text| unsafe { write_text(text, buffer, size, length) };
            match value {
                Some(value) => write(&value),
                None => none(name, write("")),
            }
        })
    })
}

/// The error for a property without a value, once the empty text is written; without room even for its
/// NUL there still is nothing to get.
fn none(name: &str, written: Result<()>) -> Result<()> {
    match written {
        Err(error) if error.code != KABI_STATUS_BUFFER_TOO_SMALL => Err(error),
        _ => Err(Error::new(
            KABI_STATUS_NOENT,
            format!("property \"{name}\" is not set and has no default"),
        )),
    }
}

/// Takes a property back to its default. Not an error if it was not set.
///
/// Errors: KABI_STATUS_ARGUMENT (no such property).
#[no_mangle]
pub unsafe extern "C" fn kabi_config_unset(
    config: *mut kabi_config_t,
    name: *const c_char,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(config, Mode::Any, |config: &ConfigObject, _| {
            // SAFETY: by this function's contract.
            let name = unsafe { text(name, NAME_MAX, "the property name") }?;
            lock(&config.state).config.unset(name)
        })
    })
}

/// Writes the properties that were set to `buffer`, as a JSON object of names and values (all
/// strings), and its length without the NUL to `length`. Values of secrets are "[redacted]", so that
/// the text may be logged.
///
/// With a buffer that is too small (NULL with size 0 is allowed) the length is written all the same,
/// and KABI_STATUS_BUFFER_TOO_SMALL returned.
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_config_dump(
    config: *mut kabi_config_t,
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(config, Mode::Any, |config: &ConfigObject, _| {
            let dump = lock(&config.state).config.dump();
            // SAFETY: by this function's contract.
            unsafe { write_text(&dump, buffer, size, length) }
        })
    })
}

/// Writes the description of every property to `buffer`, as a JSON document, and its length without
/// the NUL (some 100 KB) to `length`. The document is the same each time in one process.
///
/// It is an object with the library's version in "kafkabi" and an array "properties" of objects:
/// "name"; "kind" (string, integer, float, boolean, enum, flags, pattern list, pointer); "default",
/// and where librdkafka's differs "librdkafka_default" and "why"; "range" (min, max) or "values";
/// "for" (producer, consumer, both); "level" (global, topic); "importance" (high, medium, low);
/// "alias_of"; "deprecated", "experimental" and "secret" (true, false); "managed" (why it can't be set
/// and what to use instead); "unsupported" (why this build can't use it); "text". What does not apply
/// is absent.
///
/// With a buffer that is too small (NULL with size 0 is allowed) the length is written all the same,
/// and KABI_STATUS_BUFFER_TOO_SMALL returned.
///
/// @nullable buffer
#[no_mangle]
pub unsafe extern "C" fn kabi_config_describe(
    buffer: *mut c_char,
    size: usize,
    length: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        unsafe { write_text(describe()?, buffer, size, length) }
    })
}

/// Chooses the kinds of events that clients made from this configuration queue for the program:
/// KABI_EVENT_* bits, or-ed together; 0 for none. It starts as KABI_EVENT_DEFAULT.
///
/// Kinds that are not in the mask are never seen, whether they have a handler or not. Without
/// KABI_EVENT_REPORT records need no draining; failures are counted for kabi_producer_flush().
/// Without KABI_EVENT_LOG log lines go where the property kafkabi.log says.
///
/// Errors: KABI_STATUS_ARGUMENT (a bit that is no event kind).
#[no_mangle]
pub unsafe extern "C" fn kabi_config_events(
    config: *mut kabi_config_t,
    mask: u32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with(config, Mode::Any, |config: &ConfigObject, _| {
            lock(&config.state).config.set_events(mask)
        })
    })
}

/// Sets the function that kabi_producer_poll(), kabi_consumer_poll() and their like hand events of
/// these kinds to, in place of one set before. NULL for `handler` takes it away. It does not change
/// which kinds are queued: see kabi_config_events().
///
/// `kinds` is one or more KABI_EVENT_* bits, or-ed together. Clients made from the configuration
/// before are not affected. `user` is given to each call of the handler, by each client, on whichever
/// thread polls it. `finalizer` is called once with `user` when nothing holds them any more (a
/// replaced one perhaps within this very call); it may be NULL. If this function fails the finalizer
/// is not called: `user` is still the program's.
///
/// Errors: KABI_STATUS_ARGUMENT (no kind, or a bit that is none).
///
/// @nullable handler, finalizer
#[no_mangle]
pub unsafe extern "C" fn kabi_config_handler(
    config: *mut kabi_config_t,
    kinds: u32,
    handler: kabi_event_handler_t,
    user: *mut c_void,
    finalizer: kabi_finalizer_t,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // What was replaced is dropped last, outside of the lock and of the handle: its finalizer may
        // use or free this configuration.
        let replaced = with(config, Mode::Any, |config: &ConfigObject, _| {
            known_events(kinds)?;
            if kinds == 0 {
                return Err(Error::argument("no event kind is given for the handler"));
            }
            Ok(lock(&config.state)
                .handlers
                .set(kinds, handler, user, finalizer))
        })?;
        drop(replaced);
        Ok(())
    })
}

#[cfg(test)]
mod tests;
