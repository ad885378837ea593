//! Messages: one borrowed from an event or a batch, a batch that owns them, and the views of a batch that
//! cross the ABI.

use super::client::Client;
use super::sys;
use crate::record::kabi_record_t;
use std::ffi::{c_char, c_void, CStr};
use std::marker::PhantomData;
use std::ptr::NonNull;
use std::sync::Arc;

pub const STATUS_POSSIBLY_PERSISTED: i32 = 1;
pub const STATUS_PERSISTED: i32 = 2;

#[derive(Clone, Copy)]
pub struct MessageRef<'a> {
    ptr: NonNull<sys::rd_kafka_message_t>,
    owner: PhantomData<&'a ()>,
}

/// One header of a message.
pub struct Header<'a> {
    /// As librdkafka keeps it: terminated, of any bytes.
    pub name: &'a CStr,
    pub value: Option<&'a [u8]>,
}

impl<'a> MessageRef<'a> {
    /// # Safety
    /// The message is valid for `'a`.
    pub(super) unsafe fn new(ptr: NonNull<sys::rd_kafka_message_t>) -> MessageRef<'a> {
        MessageRef {
            ptr,
            owner: PhantomData,
        }
    }

    fn raw(&self) -> *mut sys::rd_kafka_message_t {
        self.ptr.as_ptr()
    }

    /// Reads one field. A reference to the whole struct would claim that its enum field holds a value
    /// that Rust knows, which a newer broker's error code may not be.
    #[inline]
    fn field<T: Copy>(&self, get: impl FnOnce(*mut sys::rd_kafka_message_t) -> *const T) -> T {
        // SAFETY: `get` points into the message, which is valid for 'a.
        unsafe { get(self.raw()).read() }
    }

    pub fn code(&self) -> i32 {
        self.field(|m| unsafe { std::ptr::addr_of!((*m).err) }.cast::<i32>())
    }

    pub fn partition(&self) -> i32 {
        self.field(|m| unsafe { std::ptr::addr_of!((*m).partition) })
    }

    pub fn offset(&self) -> i64 {
        self.field(|m| unsafe { std::ptr::addr_of!((*m).offset) })
    }

    /// The 64 bits that the sender gave with the message.
    pub fn token(&self) -> u64 {
        self.field(|m| unsafe { std::ptr::addr_of!((*m)._private) }) as u64
    }

    /// An identity of the topic, the same for all messages of one topic of one client.
    pub fn topic_id(&self) -> usize {
        self.field(|m| unsafe { std::ptr::addr_of!((*m).rkt) }) as usize
    }

    pub fn topic_name(&self) -> &'a str {
        let topic = self.field(|m| unsafe { std::ptr::addr_of!((*m).rkt) });
        if topic.is_null() {
            return "";
        }
        // SAFETY: the topic is alive as long as the message; its name is terminated.
        unsafe { CStr::from_ptr(sys::rd_kafka_topic_name(topic)) }
            .to_str()
            .unwrap_or("")
    }

    fn bytes(pointer: *mut c_void, length: usize) -> Option<&'a [u8]> {
        if pointer.is_null() {
            return None;
        }
        // SAFETY: librdkafka keeps `length` bytes there, alive as long as the message.
        Some(unsafe { std::slice::from_raw_parts(pointer.cast::<u8>(), length) })
    }

    pub fn key(&self) -> Option<&'a [u8]> {
        let pointer = self.field(|m| unsafe { std::ptr::addr_of!((*m).key) });
        Self::bytes(
            pointer,
            self.field(|m| unsafe { std::ptr::addr_of!((*m).key_len) }),
        )
    }

    /// The value, or the text of the error that the message stands for.
    pub fn value(&self) -> Option<&'a [u8]> {
        let pointer = self.field(|m| unsafe { std::ptr::addr_of!((*m).payload) });
        Self::bytes(
            pointer,
            self.field(|m| unsafe { std::ptr::addr_of!((*m).len) }),
        )
    }

    /// Milliseconds since 1970 (-1: none) and where they come from (KABI_TIMESTAMP_*).
    pub fn timestamp(&self) -> (i64, i32) {
        let mut kind = 0i32;
        // SAFETY: the message is valid; C writes its enum, an int, into an i32.
        let ms = unsafe {
            sys::rd_kafka_message_timestamp(self.raw(), std::ptr::from_mut(&mut kind).cast())
        };
        (ms, kind)
    }

    pub fn leader_epoch(&self) -> i32 {
        // SAFETY: the message is valid.
        unsafe { sys::rd_kafka_message_leader_epoch(self.raw()) }
    }

    /// Microseconds from the send to the acknowledgement, -1 if unknown.
    pub fn latency_us(&self) -> i64 {
        // SAFETY: the message is valid.
        unsafe { sys::rd_kafka_message_latency(self.raw()) }
    }

    /// STATUS_* of a delivery report.
    pub fn status(&self) -> i32 {
        // SAFETY: the message is valid.
        unsafe { sys::rd_kafka_message_status(self.raw()) }
    }

    /// The broker that it came from, -1 if that is not known.
    pub fn broker(&self) -> i32 {
        // SAFETY: the message is valid.
        unsafe { sys::rd_kafka_message_broker_id(self.raw()) }
    }

    /// The headers in order. The first call on a message parses them.
    pub fn headers(&self) -> Headers<'a> {
        let mut list = std::ptr::null_mut();
        // SAFETY: the message is valid and owns the list.
        let found = unsafe {
            sys::kafkabi_inside_may_have_headers(self.raw()) != 0
                && sys::rd_kafka_message_headers(self.raw(), &mut list) == 0
        };
        Headers {
            list: if found { list } else { std::ptr::null_mut() },
            next: 0,
            owner: PhantomData,
        }
    }

    fn view(&self, topic: i32) -> kabi_record_t {
        let (timestamp, timestamp_type) = self.timestamp();
        let key = self.key();
        let value = self.value();
        let length = |part: Option<&[u8]>| part.map_or(0, |p| i64::try_from(p.len()).unwrap_or(0));
        let pointer = |part: Option<&[u8]>| part.map_or(std::ptr::null(), |p| p.as_ptr().cast());
        kabi_record_t {
            topic,
            partition: self.partition(),
            offset: self.offset(),
            timestamp,
            timestamp_type,
            leader_epoch: self.leader_epoch(),
            code: self.code(),
            reserved: 0,
            key: pointer(key),
            key_length: length(key),
            value: pointer(value),
            value_length: length(value),
        }
    }
}

pub struct Headers<'a> {
    list: *mut sys::rd_kafka_headers_t,
    next: usize,
    owner: PhantomData<&'a ()>,
}

impl<'a> Iterator for Headers<'a> {
    type Item = Header<'a>;

    fn next(&mut self) -> Option<Header<'a>> {
        if self.list.is_null() {
            return None;
        }
        let mut name: *const c_char = std::ptr::null();
        let mut value: *const c_void = std::ptr::null();
        let mut size = 0usize;
        // SAFETY: the list is alive as long as the message; what is written points into it.
        let code = unsafe {
            sys::rd_kafka_header_get_all(self.list, self.next, &mut name, &mut value, &mut size)
        };
        if code != 0 || name.is_null() {
            return None;
        }
        self.next += 1;
        // SAFETY: a header's name is terminated and alive as long as the message.
        let name = unsafe { CStr::from_ptr(name) };
        Some(Header {
            name,
            value: MessageRef::bytes(value.cast_mut(), size),
        })
    }
}

/// Messages of a consumer, destroyed with this.
pub struct Messages {
    list: Vec<*mut sys::rd_kafka_message_t>,
    client: Arc<Client>,
}

// SAFETY: a message is plain memory that any thread may read and destroy.
unsafe impl Send for Messages {}
// SAFETY: &Messages only reads; the parse of headers on first use is guarded by `Batch`.
unsafe impl Sync for Messages {}

impl Messages {
    pub fn new(client: &Arc<Client>) -> Messages {
        Messages {
            list: Vec::new(),
            client: Arc::clone(client),
        }
    }

    /// Appends up to `max` messages that `take` writes to an array of that size.
    pub(super) fn fill(
        &mut self,
        client: &Arc<Client>,
        max: usize,
        take: impl FnOnce(*mut *mut sys::rd_kafka_message_t, usize) -> isize,
    ) -> usize {
        debug_assert!(Arc::ptr_eq(client, &self.client));
        self.list.reserve(max);
        let before = self.list.len();
        let taken = take(self.list.spare_capacity_mut().as_mut_ptr().cast(), max);
        let taken = usize::try_from(taken).unwrap_or(0).min(max);
        // SAFETY: `take` wrote that many messages, which are ours now, into reserved space.
        unsafe { self.list.set_len(before + taken) };
        taken
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = MessageRef<'_>> {
        self.list.iter().filter_map(|&ptr| {
            // SAFETY: a message of ours, alive until it is removed, which needs &mut self.
            NonNull::new(ptr).map(|ptr| unsafe { MessageRef::new(ptr) })
        })
    }

    /// Takes the first `count` messages out.
    pub fn split_front(&mut self, count: usize) -> Messages {
        let count = count.min(self.list.len());
        let rest = self.list.split_off(count);
        Messages {
            list: std::mem::replace(&mut self.list, rest),
            client: Arc::clone(&self.client),
        }
    }

    /// Takes all messages out.
    pub fn take(&mut self) -> Messages {
        Messages {
            list: std::mem::take(&mut self.list),
            client: Arc::clone(&self.client),
        }
    }

    /// Takes out the messages that `wanted` says, in order.
    pub fn take_if(&mut self, mut wanted: impl FnMut(MessageRef<'_>) -> bool) -> Messages {
        // SAFETY: messages of ours; each goes to exactly one of the two lists.
        let (taken, kept) = self.list.drain(..).partition(|&ptr| {
            NonNull::new(ptr).is_some_and(|p| wanted(unsafe { MessageRef::new(p) }))
        });
        self.list = kept;
        Messages {
            list: taken,
            client: Arc::clone(&self.client),
        }
    }

    /// Puts messages behind those that are here.
    pub fn append(&mut self, mut last: Messages) {
        self.list.append(&mut last.list);
    }

    /// Puts messages before those that are here.
    pub fn prepend(&mut self, mut first: Messages) {
        if first.list.is_empty() {
            return;
        }
        first.list.append(&mut self.list);
        std::mem::swap(&mut self.list, &mut first.list);
    }

    /// Destroys the messages that `keep` refuses.
    pub fn retain(&mut self, mut keep: impl FnMut(MessageRef<'_>) -> bool) {
        self.list.retain(|&ptr| {
            // SAFETY: a message of ours.
            let kept = NonNull::new(ptr).is_some_and(|p| keep(unsafe { MessageRef::new(p) }));
            if !kept {
                // SAFETY: ours, and leaving the list.
                unsafe { destroy(ptr) };
            }
            kept
        });
    }
}

impl Drop for Messages {
    fn drop(&mut self) {
        for &ptr in &self.list {
            // SAFETY: ours, destroyed once.
            unsafe { destroy(ptr) };
        }
    }
}

/// # Safety
/// `ptr` is NULL or a message that the caller owns.
unsafe fn destroy(ptr: *mut sys::rd_kafka_message_t) {
    if !ptr.is_null() {
        // SAFETY: owned by the caller.
        unsafe { sys::rd_kafka_message_destroy(ptr) };
    }
}

/// A batch of messages and the views of them that cross the ABI.
pub struct Batch {
    views: Vec<kabi_record_t>,
    messages: Messages,
    /// The first call for a message's headers parses them into the message, so only one at a time.
    parsing: std::sync::Mutex<()>,
}

// SAFETY: the views point into the messages, which live and move between threads with them.
unsafe impl Send for Batch {}
// SAFETY: views are only read, messages are Sync.
unsafe impl Sync for Batch {}

impl Batch {
    /// `topic` tells the topic number of a message.
    pub fn new(messages: Messages, mut topic: impl FnMut(MessageRef<'_>) -> i32) -> Batch {
        let views = messages.iter().map(|m| m.view(topic(m))).collect();
        Batch {
            views,
            messages,
            parsing: std::sync::Mutex::new(()),
        }
    }

    pub fn views(&self) -> &[kabi_record_t] {
        &self.views
    }

    /// The broker that a record came from; `None` if there is no such record.
    pub fn broker(&self, index: usize) -> Option<i32> {
        let &ptr = self.messages.list.get(index)?;
        // SAFETY: a message of the batch, alive as long as `self`.
        Some(unsafe { MessageRef::new(NonNull::new(ptr)?) }.broker())
    }

    /// Visits the headers of one record; `None` if there is no such record. The names and values live
    /// as long as the batch.
    pub fn headers<'a>(&'a self, index: usize, mut visit: impl FnMut(Header<'a>)) -> Option<()> {
        let &ptr = self.messages.list.get(index)?;
        let _alone = self.parsing.lock().unwrap_or_else(|e| e.into_inner());
        // SAFETY: a message of the batch, alive as long as `self`.
        let message = unsafe { MessageRef::new(NonNull::new(ptr)?) };
        message.headers().for_each(&mut visit);
        Some(())
    }
}
