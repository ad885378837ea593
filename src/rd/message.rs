//! A single message of librdkafka's, borrowed from whoever owns it.

use super::sys;
use crate::record::kabi_record_t;
use std::ffi::{c_char, c_void, CStr};
use std::marker::PhantomData;
use std::ptr::NonNull;

pub const STATUS_POSSIBLY_PERSISTED: i32 = 1;
pub const STATUS_PERSISTED: i32 = 2;

#[derive(Clone, Copy)]
pub struct MessageRef<'a> {
    ptr: NonNull<sys::rd_kafka_message_t>,
    owner: PhantomData<&'a ()>,
}

/// # Safety
/// The topic is alive for `'a`.
pub(super) unsafe fn name_of<'a>(topic: *mut sys::rd_kafka_topic_t) -> &'a str {
    // SAFETY: alive; its name is terminated.
    unsafe { CStr::from_ptr(sys::rd_kafka_topic_name(topic)) }
        .to_str()
        .unwrap_or("")
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
        // SAFETY: the topic is alive as long as the message.
        unsafe { name_of(topic) }
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

    /// As it crosses the ABI.
    pub(super) fn view(&self, topic: i32) -> kabi_record_t {
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
    /// Name and value.
    type Item = (&'a CStr, Option<&'a [u8]>);

    fn next(&mut self) -> Option<Self::Item> {
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
        Some((name, MessageRef::bytes(value.cast_mut(), size)))
    }
}
