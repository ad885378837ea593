//! What a poll for records tells about the batch that it handed out.

use super::kabi_record_t;
use std::ptr;

/// What kabi_consumer_poll() or kabi_consumer_poll_packed() handed out.
///
/// The caller owns it; each poll that returns 0 or KABI_STATUS_BUFFER_TOO_SMALL writes all of it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kabi_batch_info_t {
    /// The batch's number, counted from 1 in each consumer, for kabi_consumer_handled(); 0 when
    /// nothing was handed out.
    pub number: u64,
    /// The assignment that the records belong to: it grows with each change of the assignment.
    pub generation: u64,
    /// The records, count of them, valid until the batch is freed. NULL when there are none and
    /// from kabi_consumer_poll_packed().
    ///
    /// @nullable
    pub records: *const kabi_record_t,
    /// How many records and entries were handed out.
    pub count: usize,
    /// kabi_consumer_poll_packed(): how many bytes were written, or how many the next record
    /// needs with KABI_STATUS_BUFFER_TOO_SMALL. kabi_consumer_poll(): 0.
    pub size: usize,
    /// Always 0.
    pub reserved: [u64; 3],
}

layout!(kabi_batch_info_t: 64 {
    number: 0,
    generation: 8,
    records: 16,
    count: 24,
    size: 32,
    reserved: 40,
});

impl Default for kabi_batch_info_t {
    fn default() -> Self {
        Self {
            number: 0,
            generation: 0,
            records: ptr::null(),
            count: 0,
            size: 0,
            reserved: [0; 3],
        }
    }
}
