//! Records received: read out of the broker's batches, or single messages of librdkafka's, in lists that own what they lie
//! in; and the views of them that cross the ABI.

use super::client::Client;
use super::message::MessageRef;
use super::records::{self, RawHeaders};
use super::sys;
use crate::record::{kabi_record_t, KABI_TIMESTAMP_CREATE, KABI_TIMESTAMP_LOG_APPEND};
use once_cell::sync::OnceCell;
use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::ptr::NonNull;
use std::sync::Arc;

/// One record, or an error that comes in its place. What it points to belongs to its list.
pub struct Received {
    view: kabi_record_t,
    /// In a batch: for `RawHeaders`.
    headers: *const [u8],
    broker: i32,
    /// A single message, or NULL.
    message: *mut sys::rd_kafka_message_t,
}

// SAFETY: it points to what nobody changes; only headers of a single message are parsed at the first question, which
// `Batch` asks once.
unsafe impl Send for Received {}
// SAFETY: as above.
unsafe impl Sync for Received {}

/// One header of a record. A name ends before its first NUL, as librdkafka has it.
pub struct Header<'a> {
    pub name: &'a [u8],
    pub value: Option<&'a [u8]>,
}

impl Received {
    fn of_message(message: NonNull<sys::rd_kafka_message_t>, topic: i32) -> Received {
        // SAFETY: the message is alive, and what it points to as long as it is.
        let view = unsafe { MessageRef::new(message) };
        Received {
            view: view.view(topic),
            headers: &[],
            broker: view.broker(),
            message: message.as_ptr(),
        }
    }

    pub fn view(&self) -> &kabi_record_t {
        &self.view
    }

    /// Topic number and partition; a topic of -1 for what is of none.
    pub fn partition(&self) -> (i32, i32) {
        (self.view.topic, self.view.partition)
    }

    #[inline]
    pub fn code(&self) -> i32 {
        self.view.code
    }

    fn bytes(&self, pointer: *const u8, length: i64) -> Option<&[u8]> {
        let length = usize::try_from(length).unwrap_or(0);
        // SAFETY: so many bytes are there, and as long as the list, which `self` is borrowed from.
        (!pointer.is_null()).then(|| unsafe { std::slice::from_raw_parts(pointer, length) })
    }

    pub fn key(&self) -> Option<&[u8]> {
        self.bytes(self.view.key.cast(), self.view.key_length)
    }

    /// The value, or the text of an error.
    pub fn value(&self) -> Option<&[u8]> {
        self.bytes(self.view.value.cast(), self.view.value_length)
    }

    /// Visits the headers in order.
    #[inline]
    pub fn headers<'a>(&'a self, mut visit: impl FnMut(Header<'a>)) {
        if let Some(message) = NonNull::new(self.message) {
            // SAFETY: the message is alive as long as the list.
            for (name, value) in unsafe { MessageRef::new(message) }.headers() {
                visit(Header {
                    name: name.to_bytes(),
                    value,
                });
            }
            return;
        }
        // SAFETY: the bytes are alive as long as the list.
        let raw = unsafe { &*self.headers };
        if raw.is_empty() {
            return;
        }
        for (name, value) in RawHeaders::new(raw) {
            let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
            visit(Header {
                name: name.get(..end).unwrap_or_default(),
                value,
            });
        }
    }
}

/// What the records of a batch lie in, kept.
struct Hold(NonNull<sys::kafkabi_buffer_t>);

// SAFETY: librdkafka counts who keeps a buffer with atomics; its bytes are only read.
unsafe impl Send for Hold {}
// SAFETY: as above.
unsafe impl Sync for Hold {}

impl Hold {
    fn of(buffer: *mut sys::kafkabi_buffer_t) -> Option<Hold> {
        // SAFETY: the buffer is alive, kept by the batch.
        NonNull::new(unsafe { sys::kafkabi_inside_hold(buffer) }).map(Hold)
    }
}

impl Clone for Hold {
    fn clone(&self) -> Hold {
        // SAFETY: alive, kept by this. It gives back what it was given.
        unsafe { sys::kafkabi_inside_hold(self.0.as_ptr()) };
        Hold(self.0)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        // SAFETY: given up once.
        unsafe { sys::kafkabi_inside_let_go(self.0.as_ptr()) };
    }
}

/// Records and what they lie in, given back when this is dropped.
pub struct Messages {
    list: VecDeque<Received>,
    holds: Vec<Hold>,
    client: Arc<Client>,
}

impl Messages {
    pub fn new(client: &Arc<Client>) -> Messages {
        Messages {
            list: VecDeque::new(),
            holds: Vec::new(),
            client: Arc::clone(client),
        }
    }

    /// What is put here has to be of this client, which outlives it.
    pub(super) fn is_of(&self, client: &Arc<Client>) -> bool {
        Arc::ptr_eq(client, &self.client)
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Received> {
        self.list.iter()
    }

    /// Appends a single message, which is given up to this.
    pub(super) fn push_message(&mut self, message: NonNull<sys::rd_kafka_message_t>, topic: i32) {
        self.list.push_back(Received::of_message(message, topic));
    }

    /// Appends up to `max` records of a batch, which is left after them. `None` if the batch is damaged there.
    pub(super) fn read(
        &mut self,
        batch: &mut sys::kafkabi_fetched_t,
        topic: i32,
        max: usize,
    ) -> Option<()> {
        let before = self.list.len();
        let outcome = self.read_all(batch, topic, max);
        let is_held = self
            .holds
            .last()
            .is_some_and(|h| h.0.as_ptr() == batch.buffer);
        if self.list.len() > before && !is_held {
            self.holds.extend(Hold::of(batch.buffer));
        }
        outcome
    }

    fn read_all(
        &mut self,
        batch: &mut sys::kafkabi_fetched_t,
        topic: i32,
        max: usize,
    ) -> Option<()> {
        // SAFETY: the batch says where its records are, and keeps them as long as it is.
        let mut rest = unsafe { std::slice::from_raw_parts(batch.bytes, batch.size) };
        let end = self.list.len().saturating_add(max);
        while !rest.is_empty() && self.list.len() < end {
            let record = records::next(&mut rest)?;
            let offset = offset_of(batch, record.offset_delta)?;
            (batch.bytes, batch.size) = (rest.as_ptr(), rest.len());
            batch.left = batch.left.saturating_sub(1);
            // The broker sends the whole batch that the wanted offset is in.
            if offset >= batch.from {
                batch.from = offset.saturating_add(1);
                self.list.push_back(received(batch, topic, offset, &record));
            }
        }
        // One that has fewer records than it says was cut off.
        (!rest.is_empty() || batch.left <= 0).then_some(())
    }

    /// Takes back what was read of a batch, all behind the first `count` records: its partition was moved meanwhile.
    pub(super) fn unread(&mut self, count: usize) {
        self.list.truncate(count);
        self.let_go_if_empty();
    }

    /// Takes the first `count` records out.
    pub fn split_front(&mut self, count: usize) -> Messages {
        if count >= self.list.len() {
            return self.take();
        }
        Messages {
            list: self.list.drain(..count).collect(),
            holds: self.holds.clone(),
            client: Arc::clone(&self.client),
        }
    }

    /// Drops the first `count` records.
    pub fn drop_front(&mut self, count: usize) {
        let count = count.min(self.list.len());
        self.list.drain(..count).for_each(|record| destroy(&record));
        self.let_go_if_empty();
    }

    /// Takes all records out.
    pub fn take(&mut self) -> Messages {
        Messages {
            list: std::mem::take(&mut self.list),
            holds: std::mem::take(&mut self.holds),
            client: Arc::clone(&self.client),
        }
    }

    /// Takes out the records that `wanted` says, in order.
    pub fn take_if(&mut self, wanted: impl FnMut(&Received) -> bool) -> Messages {
        let (taken, kept) = self.list.drain(..).partition(wanted);
        self.list = kept;
        let taken = Messages {
            list: taken,
            holds: self.holds.clone(),
            client: Arc::clone(&self.client),
        };
        self.let_go_if_empty();
        taken
    }

    /// Puts records behind those that are here.
    pub fn append(&mut self, mut last: Messages) {
        self.list.append(&mut last.list);
        self.hold_too(&mut last);
    }

    /// Puts records before those that are here.
    pub fn prepend(&mut self, mut first: Messages) {
        if first.list.is_empty() {
            return;
        }
        first.list.append(&mut self.list);
        std::mem::swap(&mut self.list, &mut first.list);
        self.hold_too(&mut first);
    }

    /// Drops the records that `keep` refuses.
    pub fn retain(&mut self, mut keep: impl FnMut(&Received) -> bool) {
        self.list.retain(|record| {
            let kept = keep(record);
            if !kept {
                destroy(record);
            }
            kept
        });
        self.let_go_if_empty();
    }

    fn hold_too(&mut self, other: &mut Messages) {
        for hold in other.holds.drain(..) {
            if !self.holds.iter().any(|h| h.0 == hold.0) {
                self.holds.push(hold);
            }
        }
        self.let_go_if_empty();
    }

    fn let_go_if_empty(&mut self) {
        if self.list.is_empty() {
            self.holds.clear();
        }
    }
}

fn offset_of(batch: &sys::kafkabi_fetched_t, delta: i64) -> Option<i64> {
    (0..=i64::from(batch.last_delta))
        .contains(&delta)
        .then(|| batch.base_offset.checked_add(delta))?
}

#[inline]
fn received(
    batch: &sys::kafkabi_fetched_t,
    topic: i32,
    offset: i64,
    record: &records::Record<'_>,
) -> Received {
    let length = |part: Option<&[u8]>| part.map_or(0, |p| i64::try_from(p.len()).unwrap_or(0));
    let pointer = |part: Option<&[u8]>| part.map_or(std::ptr::null(), |p| p.as_ptr().cast());
    let (timestamp, timestamp_type) = match batch.is_log_append {
        0 => (
            batch.timestamp.wrapping_add(record.timestamp_delta),
            KABI_TIMESTAMP_CREATE,
        ),
        _ => (batch.timestamp, KABI_TIMESTAMP_LOG_APPEND),
    };
    Received {
        view: kabi_record_t {
            topic,
            partition: batch.partition,
            offset,
            timestamp,
            timestamp_type,
            leader_epoch: batch.leader_epoch,
            code: 0,
            reserved: 0,
            key: pointer(record.key),
            key_length: length(record.key),
            value: pointer(record.value),
            value_length: length(record.value),
        },
        headers: record.headers,
        broker: batch.broker,
        message: std::ptr::null_mut(),
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        self.list.iter().for_each(destroy);
    }
}

/// Gives a single message back. The record must not be used after this.
fn destroy(record: &Received) {
    if !record.message.is_null() {
        // SAFETY: owned by the list that the record is leaving.
        unsafe { sys::rd_kafka_message_destroy(record.message) };
    }
}

/// The names of a record's headers, each with a NUL.
type Names = Box<[CString]>;

/// Records and the views of them that cross the ABI.
pub struct Batch {
    views: Vec<kabi_record_t>,
    messages: Messages,
    /// By record, made at the first question.
    names: OnceCell<Box<[OnceCell<Names>]>>,
}

// SAFETY: the views point into what the messages keep, which live and move between threads with them.
unsafe impl Send for Batch {}
// SAFETY: as above; views are only read.
unsafe impl Sync for Batch {}

impl Batch {
    pub fn new(messages: Messages) -> Batch {
        Batch {
            views: messages.iter().map(|m| *m.view()).collect(),
            messages,
            names: OnceCell::new(),
        }
    }

    pub fn views(&self) -> &[kabi_record_t] {
        &self.views
    }

    /// The broker that a record came from; `None` if there is no such record.
    pub fn broker(&self, index: usize) -> Option<i32> {
        self.messages.list.get(index).map(|m| m.broker)
    }

    /// Visits the headers of one record; `None` if there is no such record. The names and values live
    /// as long as the batch.
    pub fn headers<'a>(
        &'a self,
        index: usize,
        mut visit: impl FnMut(&'a CStr, Option<&'a [u8]>),
    ) -> Option<()> {
        let record = self.messages.list.get(index)?;
        let names = self.names.get_or_init(|| {
            std::iter::repeat_with(OnceCell::new)
                .take(self.messages.len())
                .collect()
        });
        let mut names = names
            .get(index)?
            .get_or_init(|| {
                let mut names = Vec::new();
                record.headers(|h| names.push(CString::new(h.name).unwrap_or_default()));
                names.into()
            })
            .iter();
        record.headers(|h| visit(names.next().map_or(c"", CString::as_c_str), h.value));
        Some(())
    }
}
