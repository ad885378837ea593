//! Records to be sent, records received, their headers, and the packed form of both.

use super::KABI_OFFSET_INVALID;
use std::ffi::{c_char, c_void};
use std::ptr;

/// A partition to send to: the partitioner of the topic chooses it.
pub const KABI_PARTITION_ANY: i32 = -1;
/// A partition for kabi_producer_send_packed(): each packed record says its own.
pub const KABI_PARTITION_RECORD: i32 = -2;
/// A topic for kabi_producer_send_packed(): each packed record says its own.
pub const KABI_TOPIC_RECORD: i32 = -1;

/// Timestamp type: the record has no timestamp.
pub const KABI_TIMESTAMP_NONE: i32 = 0;
/// Timestamp type: set by the program that sent the record.
pub const KABI_TIMESTAMP_CREATE: i32 = 1;
/// Timestamp type: set by the broker when it appended the record to its log.
pub const KABI_TIMESTAMP_LOG_APPEND: i32 = 2;

/// One header of a record.
///
/// A received header points into its batch and is valid until that batch is freed.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kabi_header_t {
    /// The name: UTF-8 without a NUL inside. Need not be terminated when given to kafkabi;
    /// always is when received.
    pub name: *const c_char,
    /// The name's length in bytes, without a terminating NUL.
    pub name_length: i64,
    /// The value, any bytes. NULL with length 0 is a null value, not NULL with length 0 an empty
    /// one.
    ///
    /// @nullable
    pub value: *const c_void,
    /// The value's length in bytes.
    pub value_length: i64,
}

layout!(kabi_header_t: 32 { name: 0, name_length: 8, value: 16, value_length: 24 });

impl Default for kabi_header_t {
    fn default() -> Self {
        Self {
            name: ptr::null(),
            name_length: 0,
            value: ptr::null(),
            value_length: 0,
        }
    }
}

/// A record to be sent. The caller owns all the memory; kafkabi copies what it needs before the
/// call returns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kabi_message_t {
    /// The topic number from kabi_producer_topic() of the same producer.
    pub topic: i32,
    /// The partition, or KABI_PARTITION_ANY to let the partitioner choose.
    pub partition: i32,
    /// The key, any bytes. NULL with length 0 is a null key, not NULL with length 0 an empty one.
    ///
    /// @nullable
    pub key: *const c_void,
    /// The key's length in bytes.
    pub key_length: i64,
    /// The value, any bytes. NULL with length 0 is a null value (a tombstone in compacted
    /// topics), not NULL with length 0 an empty one.
    ///
    /// @nullable
    pub value: *const c_void,
    /// The value's length in bytes.
    pub value_length: i64,
    /// The headers, header_count of them. NULL when there are none.
    ///
    /// @nullable
    pub headers: *const kabi_header_t,
    /// How many headers there are.
    pub header_count: usize,
    /// The record's timestamp in milliseconds since 1970-01-01 UTC; 0 means now.
    pub timestamp: i64,
    /// Any number of the caller's; it comes back in the delivery report.
    pub token: u64,
    /// Must be 0.
    pub reserved: [u64; 2],
}

layout!(kabi_message_t: 88 {
    topic: 0,
    partition: 4,
    key: 8,
    key_length: 16,
    value: 24,
    value_length: 32,
    headers: 40,
    header_count: 48,
    timestamp: 56,
    token: 64,
    reserved: 72,
});

impl Default for kabi_message_t {
    fn default() -> Self {
        Self {
            topic: -1,
            partition: KABI_PARTITION_ANY,
            key: ptr::null(),
            key_length: 0,
            value: ptr::null(),
            value_length: 0,
            headers: ptr::null(),
            header_count: 0,
            timestamp: 0,
            token: 0,
            reserved: [0; 2],
        }
    }
}

/// A received record, or an entry that tells something about a partition.
///
/// It points into its batch and is valid until that batch is freed. Its headers come from
/// kabi_batch_headers().
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kabi_record_t {
    /// The topic number; kabi_consumer_topic_name() tells its name.
    pub topic: i32,
    /// The partition.
    pub partition: i32,
    /// The record's offset in its partition.
    pub offset: i64,
    /// Milliseconds since 1970-01-01 UTC, or -1 if the record has none.
    pub timestamp: i64,
    /// Who set the timestamp, a KABI_TIMESTAMP_* number.
    pub timestamp_type: i32,
    /// The partition leader's epoch when the record was written, or -1 if it is not known.
    pub leader_epoch: i32,
    /// 0 for a record. Otherwise this is an entry about the partition: KABI_STATUS_PARTITION_EOF
    /// at its end, or the status of an error, whose text is in value.
    pub code: i32,
    /// Always 0.
    pub reserved: u32,
    /// The key. NULL with length 0 is a null key, not NULL with length 0 an empty one.
    ///
    /// @nullable
    pub key: *const c_void,
    /// The key's length in bytes.
    pub key_length: i64,
    /// The value. NULL with length 0 is a null value, not NULL with length 0 an empty one.
    ///
    /// @nullable
    pub value: *const c_void,
    /// The value's length in bytes.
    pub value_length: i64,
}

layout!(kabi_record_t: 72 {
    topic: 0,
    partition: 4,
    offset: 8,
    timestamp: 16,
    timestamp_type: 24,
    leader_epoch: 28,
    code: 32,
    reserved: 36,
    key: 40,
    key_length: 48,
    value: 56,
    value_length: 64,
});

impl Default for kabi_record_t {
    fn default() -> Self {
        Self {
            topic: -1,
            partition: -1,
            offset: KABI_OFFSET_INVALID,
            timestamp: -1,
            timestamp_type: KABI_TIMESTAMP_NONE,
            leader_epoch: -1,
            code: 0,
            reserved: 0,
            key: ptr::null(),
            key_length: 0,
            value: ptr::null(),
            value_length: 0,
        }
    }
}

/// The head of one packed record: a record and all its parts in one run of bytes.
///
/// After this head come the key, the value, the headers and zero bytes up to a multiple of 8;
/// null parts take no bytes. Each header is an int32 name length, an int32 value length (-1 for
/// a null value), the name, one NUL, and the value, with no padding in between, so the two numbers
/// may be unaligned. Numbers are in the machine's own byte order. The buffer must be aligned to 8
/// bytes; records follow each other without gaps. What kabi_consumer_poll_packed() wrote can be
/// handed to kabi_producer_send_packed() as it is.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kabi_packed_t {
    /// The whole packed record's size in bytes, padding included: a multiple of 8. The next
    /// record starts this far on.
    pub size: u32,
    /// The size of this head in bytes: 64. The key starts this far on.
    pub header_size: u16,
    /// Must be 0.
    pub flags: u16,
    /// The topic number.
    pub topic: i32,
    /// The partition, or KABI_PARTITION_ANY when sending.
    pub partition: i32,
    /// The record's offset in its partition. Ignored when sending.
    pub offset: i64,
    /// Milliseconds since 1970-01-01 UTC. Received: -1 if the record has none. Sending: 0 or -1
    /// means now.
    pub timestamp: i64,
    /// Sending: any number of the caller's, which comes back in the report. Received: 0.
    pub token: u64,
    /// The key's length in bytes, or -1 for a null key.
    pub key_length: i32,
    /// The value's length in bytes, or -1 for a null value.
    pub value_length: i32,
    /// How many headers there are.
    pub header_count: i32,
    /// The partition leader's epoch when the record was written, or -1 if it is not known.
    /// Ignored when sending.
    pub leader_epoch: i32,
    /// As in kabi_record_t. An entry whose code is not 0 is refused when sending.
    pub code: i32,
    /// Who set the timestamp, a KABI_TIMESTAMP_* number. Ignored when sending.
    pub timestamp_type: i32,
}

layout!(kabi_packed_t: 64 {
    size: 0,
    header_size: 4,
    flags: 6,
    topic: 8,
    partition: 12,
    offset: 16,
    timestamp: 24,
    token: 32,
    key_length: 40,
    value_length: 44,
    header_count: 48,
    leader_epoch: 52,
    code: 56,
    timestamp_type: 60,
});

impl Default for kabi_packed_t {
    fn default() -> Self {
        let size = std::mem::size_of::<Self>();
        Self {
            size: size as u32,
            header_size: size as u16,
            flags: 0,
            topic: -1,
            partition: KABI_PARTITION_ANY,
            offset: KABI_OFFSET_INVALID,
            timestamp: -1,
            token: 0,
            key_length: -1,
            value_length: -1,
            header_count: 0,
            leader_epoch: -1,
            code: 0,
            timestamp_type: KABI_TIMESTAMP_NONE,
        }
    }
}
