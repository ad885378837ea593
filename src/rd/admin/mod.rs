//! Administration: what librdkafka is asked with and what it answers. `Ask` is implemented for the document
//! of each operation: one function hands it to librdkafka, one reads the answer from the event that comes.

mod acls;
mod cluster;
mod configs;
mod groups;
mod offsets;
mod scram;
mod topics;

pub use cluster::{metadata, Seen};

use super::client::Client;
use super::queue::{Event, Queue};
use super::{c_string, check, clamp_ms, sys, take_error, text_of};
use crate::document::{AclOperation, Node, Status};
use crate::error::{self, Error};
use std::ffi::{c_char, c_void, CString};
use std::ptr::NonNull;
use std::time::Duration;
use sys::rd_kafka_admin_op_t as Op;

/// The longest time that librdkafka waits for an answer.
pub const TIMEOUT_MAX: Duration = Duration::from_secs(3600);

/// An operation that librdkafka does.
pub trait Ask: Sized {
    type Answer;

    /// Hands it over; the answer comes as an event on the queue.
    fn ask(&self, to: &Asked<'_>) -> Result<(), Error>;

    /// What the event tells, if it is the answer of this operation.
    fn answer(event: &Event) -> Option<Self::Answer>;
}

/// Whom an operation is handed to.
pub struct Asked<'a> {
    pub client: &'a Client,
    /// Where the answer arrives.
    pub queue: &'a Queue,
    /// What its event is told from others by.
    pub number: u64,
    pub timeout: Duration,
    /// This broker, rather than the controller, which is where most operations have to go.
    pub broker: Option<i32>,
}

impl Asked<'_> {
    fn rk(&self) -> *mut sys::rd_kafka_t {
        self.client.as_ptr()
    }

    fn options(&self, op: Op) -> Result<Options, Error> {
        // SAFETY: the client is alive.
        let ptr = unsafe { sys::rd_kafka_AdminOptions_new(self.rk(), op) };
        let options = Options(made(ptr, sys::rd_kafka_AdminOptions_destroy)?);
        let timeout = clamp_ms(Some(self.timeout.min(TIMEOUT_MAX)));
        // SAFETY: the options are alive; the opaque is a number that is never followed.
        set(|text, size| unsafe {
            sys::rd_kafka_AdminOptions_set_request_timeout(options.as_ptr(), timeout, text, size)
        })?;
        if let Some(broker) = self.broker {
            // SAFETY: as above.
            set(|text, size| unsafe {
                sys::rd_kafka_AdminOptions_set_broker(options.as_ptr(), broker, text, size)
            })?;
        }
        // SAFETY: as above.
        unsafe {
            sys::rd_kafka_AdminOptions_set_opaque(options.as_ptr(), self.number as *mut c_void);
        }
        Ok(options)
    }
}

/// A function of librdkafka's that asks for an operation on a list of things.
type AskFor<T> = unsafe extern "C" fn(
    *mut sys::rd_kafka_t,
    *mut *mut T,
    usize,
    *const sys::rd_kafka_AdminOptions_t,
    *mut sys::rd_kafka_queue_t,
);

impl Asked<'_> {
    /// Calls such a function.
    fn hand_over<T>(&self, ask_for: AskFor<T>, things: &[Owned<T>], options: &Options) {
        let mut list: Vec<*mut T> = things.iter().map(Owned::as_ptr).collect();
        // SAFETY: all are alive; librdkafka's functions of this type copy what is listed.
        unsafe {
            ask_for(
                self.rk(),
                list.as_mut_ptr(),
                list.len(),
                options.as_ptr(),
                self.queue.as_ptr(),
            );
        }
    }
}

/// Whether an event is the answer of an operation.
pub(super) fn is_answer(kind: i32) -> bool {
    const FIRST_ROW: std::ops::RangeInclusive<i32> = sys::RD_KAFKA_EVENT_CREATETOPICS_RESULT
        ..=sys::RD_KAFKA_EVENT_DELETECONSUMERGROUPOFFSETS_RESULT;
    FIRST_ROW.contains(&kind) || kind >= sys::RD_KAFKA_EVENT_CREATEACLS_RESULT
}

impl Event {
    /// The number that the operation was handed over with.
    pub fn asked_number(&self) -> u64 {
        // SAFETY: the event is alive.
        unsafe { sys::rd_kafka_event_opaque(self.as_ptr()) as u64 }
    }
}

/// What librdkafka made for us, with the function that frees it.
struct Owned<T> {
    ptr: NonNull<T>,
    destroy: unsafe extern "C" fn(*mut T),
}

impl<T> Owned<T> {
    fn as_ptr(&self) -> *mut T {
        self.ptr.as_ptr()
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: owned since `made`, and not used after this.
        unsafe { (self.destroy)(self.as_ptr()) };
    }
}

fn made<T>(ptr: *mut T, destroy: unsafe extern "C" fn(*mut T)) -> Result<Owned<T>, Error> {
    NonNull::new(ptr)
        .map(|ptr| Owned { ptr, destroy })
        .ok_or_else(|| Error::argument("librdkafka refused the arguments"))
}

/// The same, for functions that tell why not.
fn made_or_why<T>(
    make: impl FnOnce(*mut c_char, usize) -> *mut T,
    destroy: unsafe extern "C" fn(*mut T),
) -> Result<Owned<T>, Error> {
    let mut text: [c_char; 512] = [0; 512];
    let ptr = make(text.as_mut_ptr(), text.len());
    // SAFETY: librdkafka terminates what it writes, and the buffer began as zeros.
    made(ptr, destroy).map_err(|_| Error::argument(unsafe { text_of(text.as_ptr()) }))
}

/// Calls a setter that tells why not.
fn set(call: impl FnOnce(*mut c_char, usize) -> i32) -> Result<(), Error> {
    let mut text: [c_char; 512] = [0; 512];
    match call(text.as_mut_ptr(), text.len()) {
        0 => Ok(()),
        // SAFETY: librdkafka terminates what it writes, and the buffer began as zeros.
        code => Err(Error::new(code, unsafe { text_of(text.as_ptr()) })),
    }
}

struct Options(Owned<sys::rd_kafka_AdminOptions_t>);

impl Options {
    fn as_ptr(&self) -> *mut sys::rd_kafka_AdminOptions_t {
        self.0.as_ptr()
    }

    fn validate_only(self, yes: bool) -> Result<Options, Error> {
        // SAFETY: the options are alive.
        set(|text, size| unsafe {
            sys::rd_kafka_AdminOptions_set_validate_only(self.as_ptr(), i32::from(yes), text, size)
        })?;
        Ok(self)
    }

    /// Brokers answer when it is done, or say that it is not when half of the time is over, which leaves
    /// the other half for the way.
    fn operation_timeout(self, to: &Asked<'_>) -> Result<Options, Error> {
        let timeout = clamp_ms(Some(to.timeout.min(TIMEOUT_MAX) / 2));
        // SAFETY: the options are alive.
        set(|text, size| unsafe {
            sys::rd_kafka_AdminOptions_set_operation_timeout(self.as_ptr(), timeout, text, size)
        })?;
        Ok(self)
    }

    fn authorized_operations(self, yes: bool) -> Result<Options, Error> {
        // SAFETY: the options are alive; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_AdminOptions_set_include_authorized_operations(
                self.as_ptr(),
                i32::from(yes),
            );
            take_error(error, "asking for authorized operations")?;
        }
        Ok(self)
    }
}

/// A property's value for librdkafka. It may be a secret, so the error does not repeat it.
fn value_string(value: &str) -> Result<CString, Error> {
    CString::new(value).map_err(|_| Error::argument("a property's value has a NUL inside"))
}

/// Terminated names, and an array of pointers to them for as long as they live.
struct Names {
    _texts: Vec<CString>,
    pointers: Vec<*const c_char>,
}

impl Names {
    fn new<'a>(names: impl IntoIterator<Item = &'a String>, what: &str) -> Result<Names, Error> {
        let texts = names
            .into_iter()
            .map(|name| c_string(name, what))
            .collect::<Result<Vec<_>, _>>()?;
        let pointers = texts.iter().map(|t| t.as_ptr()).collect();
        Ok(Names {
            _texts: texts,
            pointers,
        })
    }

    fn as_mut_ptr(&mut self) -> *mut *const c_char {
        self.pointers.as_mut_ptr()
    }

    fn len(&self) -> usize {
        self.pointers.len()
    }
}

/// An array that librdkafka returned, whose elements are alive with the event.
///
/// # Safety
/// `first` is NULL or points to `count` elements that outlive the result.
unsafe fn array<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if first.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(first, count) }
}

/// The array that a function of librdkafka's returns, with its count.
///
/// # Safety
/// `get` returns NULL or an array of the count that it writes, which outlives the result.
unsafe fn listed<'a, T>(get: impl FnOnce(*mut usize) -> *mut T) -> &'a [T] {
    let mut count = 0;
    let first = get(&mut count);
    // SAFETY: by the contract.
    unsafe { array(first, count) }
}

/// The status in an error object that belongs to the event; NULL is success.
///
/// # Safety
/// `error` is NULL or alive.
unsafe fn status(error: *const sys::rd_kafka_error_t) -> Status {
    if error.is_null() {
        return Status::of(0);
    }
    // SAFETY: not NULL and alive; the text is copied.
    unsafe {
        Status::new(
            sys::rd_kafka_error_code(error),
            text_of(sys::rd_kafka_error_string(error)),
        )
    }
}

/// A text that may not be there.
///
/// # Safety
/// `text` is NULL or a NUL-terminated string.
unsafe fn optional_text(text: *const c_char) -> Option<String> {
    // SAFETY: by the contract.
    (!text.is_null()).then(|| unsafe { text_of(text) })
}

/// # Safety
/// `node` is NULL or alive.
unsafe fn node(node: *const sys::rd_kafka_Node_t) -> Option<Node> {
    if node.is_null() {
        return None;
    }
    // SAFETY: not NULL and alive; texts are copied.
    let node = unsafe {
        Node {
            id: sys::rd_kafka_Node_id(node),
            host: text_of(sys::rd_kafka_Node_host(node)),
            port: i32::from(sys::rd_kafka_Node_port(node)),
            rack: optional_text(sys::rd_kafka_Node_rack(node)),
        }
    };
    (node.id >= 0).then_some(node)
}

/// # Safety
/// The pointers are NULL or alive.
unsafe fn nodes(list: &[*const sys::rd_kafka_Node_t]) -> Vec<Node> {
    // SAFETY: by the contract.
    list.iter().filter_map(|n| unsafe { node(*n) }).collect()
}

/// The words of authorized operations; `None` if they were not asked for.
///
/// # Safety
/// `get` returns NULL or an array of the count that it writes.
unsafe fn operations(
    get: impl FnOnce(*mut usize) -> *const sys::rd_kafka_AclOperation_t,
) -> Option<Vec<String>> {
    let mut count = 0;
    let first = get(&mut count);
    if first.is_null() {
        return None;
    }
    // SAFETY: by the contract; read as the integers that C wrote, which the Rust enum may not know.
    let numbers = unsafe { array(first.cast::<i32>(), count) };
    Some(numbers.iter().map(|n| AclOperation::word(*n)).collect())
}

/// The answer that a getter finds in an event.
fn result_of<T>(
    event: &Event,
    get: unsafe extern "C" fn(*mut sys::rd_kafka_event_t) -> *const T,
) -> Option<*const T> {
    // SAFETY: the event is alive; for an event of another kind the getter returns NULL.
    let result = unsafe { get(event.as_ptr()) };
    (!result.is_null()).then_some(result)
}

/// Text with what is wrong with an argument that only librdkafka checks.
fn refused(code: i32, what: &str, name: &str) -> Result<(), Error> {
    match code {
        0 => Ok(()),
        code => Err(Error::new(
            code,
            format!("{what} {name:?} was refused: {}", error::text(code)),
        )),
    }
}

/// A partition of which a topic's name and code may be told.
fn said(code: i32) -> Status {
    Status::of(code)
}
