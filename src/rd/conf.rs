//! Owner of a `rd_kafka_conf_t`, and the list of properties that librdkafka prints of itself.

use super::{c_string, sys, text_of};
use crate::error::Error;
use std::ffi::c_char;
use std::ptr::NonNull;

pub const CONF_OK: i32 = 0;
pub const CONF_INVALID: i32 = -1;

/// Which events librdkafka queues for the service thread.
#[derive(Debug, Clone, Copy, Default)]
pub struct Events {
    pub reports: bool,
    pub errors: bool,
    pub statistics: bool,
    pub tokens: Tokens,
    pub logs: Logs,
}

/// Where librdkafka's log lines go.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Logs {
    #[default]
    Stderr,
    Queue,
    Off,
}

/// Who is asked for tokens of SASL/OAUTHBEARER.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Tokens {
    /// Nobody, or librdkafka's own thread if it is told to fetch them.
    #[default]
    Nobody,
    /// The program, by an event.
    Queue,
    /// librdkafka, which makes unsecured ones for tests.
    Unsecured,
}

/// Why librdkafka refused a property.
#[derive(Debug)]
pub enum Refused {
    UnknownName(String),
    InvalidValue(String),
}

pub struct Conf {
    ptr: NonNull<sys::rd_kafka_conf_t>,
}

// SAFETY: a conf object is plain memory without thread affinity; &Conf only reads it.
unsafe impl Send for Conf {}

impl Conf {
    pub fn new() -> Result<Conf, Error> {
        // SAFETY: no arguments; NULL is checked.
        NonNull::new(unsafe { sys::rd_kafka_conf_new() })
            .map(|ptr| Conf { ptr })
            .ok_or_else(|| Error::system("making a configuration"))
    }

    pub(super) fn as_ptr(&self) -> *mut sys::rd_kafka_conf_t {
        self.ptr.as_ptr()
    }

    /// Gives the object up to librdkafka, which frees it with the client.
    pub(super) fn into_raw(self) -> *mut sys::rd_kafka_conf_t {
        let ptr = self.as_ptr();
        std::mem::forget(self);
        ptr
    }

    pub fn set(&mut self, name: &str, value: &str) -> Result<(), Refused> {
        let invalid = |e: Error| Refused::InvalidValue(e.message);
        let c_name = c_string(name, "the property name").map_err(invalid)?;
        let c_value = c_string(value, "the property value").map_err(invalid)?;
        let mut text: [c_char; 512] = [0; 512];
        // SAFETY: the object is alive, the strings are terminated, the buffer has the given size.
        let code = unsafe {
            sys::rd_kafka_conf_set(
                self.as_ptr(),
                c_name.as_ptr(),
                c_value.as_ptr(),
                text.as_mut_ptr(),
                text.len(),
            )
        };
        // SAFETY: librdkafka terminates what it writes, and the buffer began as zeros.
        let text = || unsafe { text_of(text.as_ptr()) };
        match code {
            CONF_OK => Ok(()),
            CONF_INVALID => Err(Refused::InvalidValue(text())),
            _ => Err(Refused::UnknownName(text())),
        }
    }

    /// The value in force, `None` for an unknown name or one without a value.
    pub fn get(&self, name: &str) -> Option<String> {
        value_of(self.as_ptr(), name)
    }

    pub(super) fn set_events(&mut self, events: Events) {
        let mut mask = 0;
        if events.reports {
            mask |= sys::RD_KAFKA_EVENT_DR;
        }
        if events.errors {
            mask |= sys::RD_KAFKA_EVENT_ERROR;
        }
        if events.statistics {
            mask |= sys::RD_KAFKA_EVENT_STATS;
        }
        match events.tokens {
            Tokens::Nobody => {}
            Tokens::Queue => mask |= sys::RD_KAFKA_EVENT_OAUTHBEARER_TOKEN_REFRESH,
            // The events are for the thread that makes the tokens; on the main queue they would be
            // taken for the program's.
            Tokens::Unsecured => mask |= sys::RD_KAFKA_EVENT_BACKGROUND,
        }
        if events.logs == Logs::Queue {
            mask |= sys::RD_KAFKA_EVENT_LOG;
        }
        // SAFETY: the object is alive; a NULL log callback turns logging off.
        unsafe {
            sys::rd_kafka_conf_set_events(self.as_ptr(), mask);
            if events.tokens == Tokens::Unsecured {
                sys::rd_kafka_conf_enable_sasl_queue(self.as_ptr(), 1);
            }
            if events.logs == Logs::Off {
                sys::rd_kafka_conf_set_log_cb(self.as_ptr(), None);
            }
        }
    }
}

impl Drop for Conf {
    fn drop(&mut self) {
        // SAFETY: owned and not given up.
        unsafe { sys::rd_kafka_conf_destroy(self.as_ptr()) };
    }
}

/// The value in force, `None` for an unknown name or one without a value. `conf` is alive.
pub(super) fn value_of(conf: *const sys::rd_kafka_conf_t, name: &str) -> Option<String> {
    let c_name = c_string(name, "the property name").ok()?;
    let mut size = 0usize;
    // SAFETY: a NULL destination asks for the size alone.
    let code =
        unsafe { sys::rd_kafka_conf_get(conf, c_name.as_ptr(), std::ptr::null_mut(), &mut size) };
    if code != CONF_OK || size == 0 {
        return None;
    }
    let mut buffer: Vec<c_char> = vec![0; size];
    // SAFETY: the buffer has the size that librdkafka asked for just now.
    let code =
        unsafe { sys::rd_kafka_conf_get(conf, c_name.as_ptr(), buffer.as_mut_ptr(), &mut size) };
    // SAFETY: librdkafka terminated what it wrote.
    (code == CONF_OK).then(|| unsafe { text_of(buffer.as_ptr()) })
}

/// The table of all properties as librdkafka prints it (its CONFIGURATION.md), read through a memory
/// stream because there is no other way to ask for it.
pub fn properties_table() -> Result<String, Error> {
    let mut data: *mut c_char = std::ptr::null_mut();
    let mut size: libc::size_t = 0;
    // SAFETY: both outputs live until the stream is closed.
    let stream = unsafe { libc::open_memstream(&mut data, &mut size) };
    if stream.is_null() {
        return Err(Error::system("opening a memory stream"));
    }
    // SAFETY: an open stream; bindgen's FILE is libc's under another name. Closing it fills `data`.
    unsafe {
        sys::rd_kafka_conf_properties_show(stream.cast());
        libc::fclose(stream);
    }
    // SAFETY: fclose left a terminated text in `data`, which is ours to free.
    let text = unsafe { text_of(data) };
    // SAFETY: allocated by the stream with malloc, and not used after this.
    unsafe { libc::free(data.cast()) };
    Ok(text)
}
