//! Partitions with offsets: what is assigned, sought, committed and asked for.

use std::ptr;

/// An offset that stands for the first record that the partition still has.
pub const KABI_OFFSET_BEGINNING: i64 = -2;
/// An offset that stands for the end of the partition: only records that come later.
pub const KABI_OFFSET_END: i64 = -1;
/// An offset that stands for the one committed by the group.
pub const KABI_OFFSET_STORED: i64 = -1000;
/// No offset: none is known, or none was committed.
pub const KABI_OFFSET_INVALID: i64 = -1001;

/// A partition of a topic, with an offset.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kabi_partition_t {
    /// The topic number from kabi_consumer_topic() of the same consumer.
    pub topic: i32,
    /// The partition, from 0.
    pub partition: i32,
    /// An offset or a KABI_OFFSET_* number. For commits: the offset of the next record to read.
    pub offset: i64,
    /// The leader's epoch of the record before the offset, or -1 if it is not known.
    pub leader_epoch: i32,
    /// Output: the status of this partition, 0 for success. Ignored as input.
    pub code: i32,
    /// The metadata of a committed offset, any bytes. NULL with length 0 is null, not NULL with
    /// length 0 is empty; librdkafka sends null as empty, and reads empty as null, so that as output
    /// both are null. As output it points into the bytes given to the same call.
    ///
    /// @nullable
    pub metadata: *const u8,
    /// The metadata's length in bytes.
    pub metadata_length: i64,
    /// Must be 0.
    pub reserved: u64,
}

layout!(kabi_partition_t: 48 {
    topic: 0,
    partition: 4,
    offset: 8,
    leader_epoch: 16,
    code: 20,
    metadata: 24,
    metadata_length: 32,
    reserved: 40,
});

impl Default for kabi_partition_t {
    fn default() -> Self {
        Self {
            topic: -1,
            partition: -1,
            offset: KABI_OFFSET_INVALID,
            leader_epoch: -1,
            code: 0,
            metadata: ptr::null(),
            metadata_length: 0,
            reserved: 0,
        }
    }
}
