//! Producers: sending records and what becomes of them.

use super::arguments::{
    out, out_optional, part, reference, slice, slice_mut, text, timeout, utf8, write_text, Out,
    NAME_MAX,
};
use super::boundary::{call, quiet};
use super::events::{self, Target};
use super::handles::{
    free_client, insert, take_open, with, with_open, Always, ClientObject, ConfigObject, Inside,
    Object,
};
use super::openable::Openable;
use crate::client::lifetime::{deadline_of, lock};
use crate::client::packed::Decoder;
use crate::client::producer::{Bulk, Entry, Producer, Record};
use crate::error::{Error, Result};
use crate::handle::Mode;
use crate::rd::produce::OutHeader;
use crate::record::{
    kabi_config_t, kabi_error_t, kabi_event_t, kabi_header_t, kabi_message_t, kabi_producer_t, kabi_status_t, KABI_PARTITION_RECORD, KABI_TOPIC_RECORD,
};
use std::ffi::{c_char, c_void};
use std::ops::Range;
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
            Ok(ClientObject { open: Openable::new(made), always })
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
            let (name, mut topic) =
                unsafe { (text(name, NAME_MAX, "the topic name")?, out(topic, "topic")?) };
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

/// # Safety
/// What the message points at is valid for the length of the export.
#[inline]
unsafe fn record_of<'a>(message: &kabi_message_t) -> Result<Record<'a>> {
    if message.reserved != [0, 0] {
        return Err(Error::argument("the message's reserved fields are not 0"));
    }
    // SAFETY: by the contract.
    let (key, value) = unsafe {
        (
            part(message.key, message.key_length, "the key")?,
            part(message.value, message.value_length, "the value")?,
        )
    };
    Ok(Record {
        topic: message.topic,
        partition: message.partition,
        key,
        value,
        timestamp: message.timestamp,
        token: message.token,
    })
}

/// Sends one record. Everything `message` points at is copied before the call returns.
///
/// Status 0 means accepted: exactly one report will come for it, with its token, unless reports are off
/// in the event mask. Any other status means that the record was not taken and no report comes.
///
/// With the queue full the call waits up to `timeout_ms` (-1: for ever, 0: not at all) and then gives
/// KABI_STATUS_QUEUE_FULL; inside a handler it never waits. Space comes as reports are drained and as
/// brokers take records. A record for a partition that the topic is known not to have gives
/// KABI_STATUS_UNKNOWN_PARTITION; while the topic is not known yet, its report tells.
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_send(
    producer: *mut kabi_producer_t,
    message: *const kabi_message_t,
    timeout_ms: i32,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        with_open(producer, |producer: &Producer, _| {
            let timeout = timeout(timeout_ms)?;
            // SAFETY: by this function's contract.
            unsafe {
                let message = reference(message, "message")?;
                let record = record_of(message)?;
                if message.header_count == 0 {
                    return producer.send(&record, std::iter::empty(), timeout);
                }
                let names = HeaderNames::of(std::slice::from_ref(message));
                producer.send(&record, names.headers(0, message)?, timeout)
            }
        })
    })
}

/// Sends records in order, with one crossing. Everything they point at is copied.
///
/// `statuses`, if not NULL, has room for `count` and gets each record's own status: 0 means accepted, and
/// exactly one report will come; otherwise the record was not taken, and sending just those again never
/// doubles another. A broken record does not stop those after it; a full queue does, and the rest get the
/// same status, so that no record overtakes another. `accepted` gets how many were taken. The call
/// returns 0 if all were, else the first status that is not 0, with the record's index in the message.
///
/// The time-out is for the whole call and works as in kabi_producer_send().
///
/// @nullable statuses, accepted
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_send_many(
    producer: *mut kabi_producer_t,
    messages: *const kabi_message_t,
    count: usize,
    timeout_ms: i32,
    statuses: *mut kabi_status_t,
    accepted: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        let mut outputs = unsafe { Outputs::check(statuses, accepted, count) }?;
        with_open(producer, |producer: &Producer, _| {
            let timeout = timeout(timeout_ms)?;
            // SAFETY: by this function's contract.
            let messages = unsafe { slice(messages, count, "messages") }?;
            // SAFETY: by this function's contract.
            let names = unsafe { HeaderNames::of(messages) };
            let entries = messages.iter().enumerate().map(|(i, message)| {
                // SAFETY: by this function's contract.
                let (record, headers) = unsafe { (record_of(message)?, names.headers(i, message)?) };
                Ok(Entry { record, headers, has_headers: message.header_count > 0 })
            });
            let bulk = producer.send_bulk(entries, timeout, |i, status| outputs.set(i, status));
            outputs.finish(bulk)
        })
    })
}

/// Sends records that lie packed in a buffer, each a kabi_packed_t with what follows it, with one
/// crossing. `count` is how many there are; `buffer` is aligned to 8 bytes and `size` bytes long.
///
/// What a consumer's kabi_consumer_poll_packed() wrote can be sent on as it is: `topic`, if not
/// KABI_TOPIC_RECORD, is the topic number of all of them (a consumer's numbers are not this producer's),
/// and `partition` says where they go: KABI_PARTITION_ANY lets the partitioner choose, 0 or more is the
/// partition of all of them, KABI_PARTITION_RECORD takes what each record says.
///
/// Statuses, order, time-out and result are as in kabi_producer_send_many(). A record that is broken
/// inside does not stop those after it; one whose size is wrong does, since what follows can't be found.
/// Bytes left over after the last record give KABI_STATUS_ARGUMENT, though all records were taken.
///
/// @nullable statuses, accepted
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_send_packed(
    producer: *mut kabi_producer_t,
    buffer: *const c_void,
    size: usize,
    count: usize,
    topic: i32,
    partition: i32,
    timeout_ms: i32,
    statuses: *mut kabi_status_t,
    accepted: *mut usize,
    error: *mut kabi_error_t,
) -> kabi_status_t {
    call(error, || {
        // SAFETY: by this function's contract.
        let mut outputs = unsafe { Outputs::check(statuses, accepted, count) }?;
        with_open(producer, |producer: &Producer, _| {
            let timeout = timeout(timeout_ms)?;
            if topic < KABI_TOPIC_RECORD || partition < KABI_PARTITION_RECORD {
                return Err(Error::argument(format!(
                    "topic {topic} or partition {partition} is out of range"
                )));
            }
            // SAFETY: by this function's contract. The elements have the alignment that is asked for.
            let bytes = unsafe {
                let words = slice(buffer.cast::<u64>(), size / 8, "buffer")?;
                std::slice::from_raw_parts(words.as_ptr().cast::<u8>(), words.len() * 8)
            };
            let odd = size % 8;
            let mut decoder = Decoder::new(bytes, count);
            let entries = decoder.by_ref().map(|packed| {
                let packed = packed?;
                let record = Record {
                    topic: if topic == KABI_TOPIC_RECORD { packed.topic } else { topic },
                    partition: if partition == KABI_PARTITION_RECORD {
                        packed.partition
                    } else {
                        partition
                    },
                    key: packed.key,
                    value: packed.value,
                    timestamp: packed.timestamp,
                    token: packed.token,
                };
                let has_headers = !packed.headers.is_empty();
                Ok(Entry { record, headers: packed.headers, has_headers })
            });
            let bulk = producer.send_bulk(entries, timeout, |i, status| outputs.set(i, status));
            outputs.finish(bulk)?;
            match decoder.left_over() + odd {
                0 => Ok(()),
                left => Err(Error::argument(format!(
                    "{left} bytes are left after the last of the {count} packed records"
                ))),
            }
        })
    })
}

/// The outputs of a bulk send.
struct Outputs<'a> {
    statuses: &'a mut [kabi_status_t],
    accepted: Option<Out<'a, usize>>,
}

impl<'a> Outputs<'a> {
    /// Until a record is looked at, none was taken and all have the status of the whole call.
    ///
    /// # Safety
    /// The pointers are NULL or valid for writes of their sizes.
    unsafe fn check(
        statuses: *mut kabi_status_t,
        accepted: *mut usize,
        count: usize,
    ) -> Result<Outputs<'a>> {
        // SAFETY: by the contract.
        let (statuses, mut accepted) = unsafe {
            let statuses = if statuses.is_null() {
                &mut []
            } else {
                slice_mut(statuses, count, "statuses")?
            };
            (statuses, out_optional(accepted, "accepted")?)
        };
        if let Some(accepted) = &mut accepted {
            accepted.set(0);
        }
        Ok(Outputs { statuses, accepted })
    }

    #[inline]
    fn set(&mut self, index: usize, status: i32) {
        if let Some(place) = self.statuses.get_mut(index) {
            *place = status;
        }
    }

    fn finish(&mut self, bulk: Bulk) -> Result<()> {
        if let Some(accepted) = &mut self.accepted {
            accepted.set(bulk.accepted);
        }
        bulk.first_error.map_or(Ok(()), Err)
    }
}

/// The header names of messages with the NUL that librdkafka wants, since a caller's need none.
struct HeaderNames {
    bytes: Vec<u8>,
    /// Where each message's names are; empty if no message has headers.
    spans: Vec<Result<Range<usize>>>,
}

impl HeaderNames {
    /// # Safety
    /// The messages' headers are valid, and what they point at, for the length of the export.
    unsafe fn of(messages: &[kabi_message_t]) -> HeaderNames {
        let mut names = HeaderNames { bytes: Vec::new(), spans: Vec::new() };
        if messages.iter().any(|m| m.header_count > 0) {
            names.spans.reserve(messages.len());
            for message in messages {
                let start = names.bytes.len();
                // SAFETY: by the contract.
                let added = unsafe { names.add(message) };
                let end = names.bytes.len();
                names.spans.push(added.map(|()| start..end));
            }
        }
        names
    }

    unsafe fn add(&mut self, message: &kabi_message_t) -> Result<()> {
        // SAFETY: by the contract of `of`.
        for header in unsafe { slice(message.headers, message.header_count, "headers") }? {
            // SAFETY: as above.
            let (name, _value) = unsafe {
                (
                    part(header.name.cast(), header.name_length, "a header's name")?,
                    part(header.value, header.value_length, "a header's value")?,
                )
            };
            let name = name.ok_or_else(|| Error::argument("a header's name is NULL"))?;
            utf8(name, "a header's name")?;
            if name.contains(&0) {
                return Err(Error::argument("a header's name has a NUL inside"));
            }
            self.bytes.extend_from_slice(name);
            self.bytes.push(0);
        }
        Ok(())
    }

    /// The headers of message `index` of those that this was made of.
    ///
    /// # Safety
    /// As `of`.
    unsafe fn headers<'a>(
        &'a self,
        index: usize,
        message: &'a kabi_message_t,
    ) -> Result<ViewHeaders<'a>> {
        let names = match self.spans.get(index) {
            Some(Ok(span)) => self.bytes.get(span.clone()).unwrap_or_default(),
            Some(Err(error)) => return Err(error.clone()),
            None => &[],
        };
        // SAFETY: by the contract; `add` has checked it already.
        let headers = unsafe { slice(message.headers, message.header_count, "headers") }?;
        Ok(ViewHeaders { headers: headers.iter(), names })
    }
}

#[derive(Clone)]
struct ViewHeaders<'a> {
    headers: std::slice::Iter<'a, kabi_header_t>,
    names: &'a [u8],
}

impl<'a> Iterator for ViewHeaders<'a> {
    type Item = OutHeader<'a>;

    fn next(&mut self) -> Option<OutHeader<'a>> {
        let header = self.headers.next()?;
        let end = self.names.iter().position(|&b| b == 0)?;
        let (name_with_nul, rest) = self.names.split_at_checked(end + 1)?;
        self.names = rest;
        // SAFETY: HeaderNames read the same part before, under the same contract.
        let value = unsafe { part(header.value, header.value_length, "") }.ok()?;
        Some(OutHeader { name_with_nul, value })
    }
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
    call(error, || with_open(producer, |producer: &Producer, _| producer.purge(what)))
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
        with(producer, Mode::Any, |producer: &ClientObject<Producer>, _| {
            // SAFETY: by this function's contract.
            unsafe { events::poll(&producer.always, timeout_ms, count) }
        })
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
        with(producer, Mode::Any, |producer: &ClientObject<Producer>, _| {
            let target = Target { events, capacity, count, bytes, bytes_size, bytes_used };
            // SAFETY: by this function's contract.
            unsafe { events::drain(&producer.always, timeout_ms, &target) }
        })
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
        with(producer, Mode::Any, |producer: &ClientObject<Producer>, _| {
            // SAFETY: by this function's contract.
            let mut fd = unsafe { out(fd, "fd") }?;
            fd.set(producer.always.events.descriptor()?.fd());
            Ok(())
        })
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
/// `undelivered`, if not NULL, gets how many records were given up or failed since the last flush that
/// returned 0. KABI_STATUS_TIMED_OUT says that the time was up: the records are given up already, and
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
        with(producer, Mode::Any, |object: &ClientObject<Producer>, guard| {
            // SAFETY: by this function's contract.
            let undelivered = unsafe { out_optional(undelivered, "undelivered") }?;
            let deadline = deadline_of(timeout(timeout_ms)?);
            let outcome = close(object, guard, deadline, timeout_ms);
            if let Some(mut undelivered) = undelivered {
                undelivered.set(object.always.undelivered.load(Ordering::SeqCst));
            }
            outcome
        })
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
    if let Some(producer) = open {
        let undelivered = producer.finish(deadline);
        always.undelivered.store(undelivered, Ordering::SeqCst);
    }
    if always.control.wait_for_end(deadline) {
        return Ok(());
    }
    let given_up = always.undelivered.load(Ordering::SeqCst);
    let error = Error::timed_out("close", timeout_ms);
    let message = format!("{}; {given_up} records were not delivered", error.message);
    Err(Error { message, ..error })
}

/// Frees the producer. The handle is stale at once and may be NULL or stale already; never blocks.
///
/// Without a close before it, what was sent is flushed in the background within message.timeout.ms, and
/// a line on stderr tells how many records were not delivered; their reports are lost. Inside a handler
/// of this producer the free takes effect when the poll ends.
///
/// @nullable producer
#[no_mangle]
pub unsafe extern "C" fn kabi_producer_free(producer: *mut kabi_producer_t) {
    quiet((), || free_client::<_, Producer>(producer, Producer::begin_close));
}
