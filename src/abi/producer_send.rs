//! Producers: sending records, one, many or packed.

use super::arguments::{out_optional, part, reference, slice, slice_mut, timeout, utf8, Out};
use super::boundary::call;
use super::handles::with_open;
use crate::client::packed::Decoder;
use crate::client::producer::{Bulk, Entry, Producer, Record};
use crate::error::{Error, Result};
use crate::rd::produce::OutHeader;
use crate::record::{
    kabi_error_t, kabi_header_t, kabi_message_t, kabi_producer_t, kabi_status_t,
    KABI_PARTITION_RECORD, KABI_TOPIC_RECORD,
};
use std::ffi::c_void;
use std::ops::Range;

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
        let outcome = with_open(producer, |producer: &Producer, _| {
            let timeout = timeout(timeout_ms)?;
            // SAFETY: by this function's contract.
            let messages = unsafe { slice(messages, count, "messages") }?;
            // SAFETY: by this function's contract.
            let names = unsafe { HeaderNames::of(messages) };
            let entries = messages.iter().enumerate().map(|(i, message)| {
                // SAFETY: by this function's contract.
                let (record, headers) =
                    unsafe { (record_of(message)?, names.headers(i, message)?) };
                Ok(Entry {
                    record,
                    headers,
                    has_headers: message.header_count > 0,
                })
            });
            let bulk = producer.send_bulk(entries, timeout, |i, status| outputs.set(i, status));
            outputs.finish(bulk)
        });
        outputs.settle(outcome)
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
        let outcome = with_open(producer, |producer: &Producer, _| {
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
                    topic: if topic == KABI_TOPIC_RECORD {
                        packed.topic
                    } else {
                        topic
                    },
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
                Ok(Entry {
                    record,
                    headers: packed.headers,
                    has_headers,
                })
            });
            let bulk = producer.send_bulk(entries, timeout, |i, status| outputs.set(i, status));
            outputs.finish(bulk)?;
            match decoder.left_over() + odd {
                0 => Ok(()),
                left => Err(Error::argument(format!(
                    "{left} bytes are left after the last of the {count} packed records"
                ))),
            }
        });
        outputs.settle(outcome)
    })
}

/// The outputs of a bulk send.
struct Outputs<'a> {
    statuses: &'a mut [kabi_status_t],
    accepted: Option<Out<'a, usize>>,
    /// No record was looked at yet.
    refused_whole: bool,
}

impl<'a> Outputs<'a> {
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
        Ok(Outputs {
            statuses,
            accepted,
            refused_whole: true,
        })
    }

    #[inline]
    fn set(&mut self, index: usize, status: i32) {
        if let Some(place) = self.statuses.get_mut(index) {
            *place = status;
        }
    }

    fn finish(&mut self, bulk: Bulk) -> Result<()> {
        self.refused_whole = false;
        if let Some(accepted) = &mut self.accepted {
            accepted.set(bulk.accepted);
        }
        bulk.first_error.map_or(Ok(()), Err)
    }

    /// A call that was refused as a whole took no record, and each record's status says why.
    fn settle(&mut self, outcome: Result<()>) -> Result<()> {
        if let (Err(error), true) = (&outcome, self.refused_whole) {
            self.statuses.fill(error.code);
        }
        outcome
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
        let mut names = HeaderNames {
            bytes: Vec::new(),
            spans: Vec::new(),
        };
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
        Ok(ViewHeaders {
            headers: headers.iter(),
            names,
        })
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
        Some(OutHeader {
            name_with_nul,
            value,
        })
    }
}
