//! librdkafka's calls about transactions, and the owner of a consumer group's metadata.

use super::client::Client;
use super::partitions::PartitionList;
use super::{c_string, clamp_ms, sys, take_error};
use crate::error::Error;
use crate::status::KABI_STATUS_UNKNOWN_GROUP;
use std::ptr::NonNull;
use std::time::Duration;

/// Who a consumer is in its group, as offsets in a transaction have to tell.
pub struct GroupMetadata {
    ptr: NonNull<sys::rd_kafka_consumer_group_metadata_t>,
}

// SAFETY: plain memory without thread affinity; it is only read.
unsafe impl Send for GroupMetadata {}

impl GroupMetadata {
    /// Of a consumer as it is a member now.
    pub fn of(consumer: &Client) -> Result<GroupMetadata, Error> {
        // SAFETY: the client is alive; what is returned is ours.
        let ptr = unsafe { sys::rd_kafka_consumer_group_metadata(consumer.as_ptr()) };
        NonNull::new(ptr)
            .map(|ptr| GroupMetadata { ptr })
            .ok_or_else(|| Error::of_code(KABI_STATUS_UNKNOWN_GROUP, "the consumer's group"))
    }

    /// Of a group, without a member: nothing then fences a member that the group has given up.
    pub fn of_group(group: &str) -> Result<GroupMetadata, Error> {
        let group = c_string(group, "the group's id")?;
        // SAFETY: the name is terminated and copied.
        let ptr = unsafe { sys::rd_kafka_consumer_group_metadata_new(group.as_ptr()) };
        NonNull::new(ptr)
            .map(|ptr| GroupMetadata { ptr })
            .ok_or_else(|| Error::system("making a group's metadata"))
    }

    /// From the bytes that a consumer, perhaps in another process, was asked for.
    pub fn read(bytes: &[u8]) -> Result<GroupMetadata, Error> {
        let mut ptr = std::ptr::null_mut();
        // Where the bytes are cut off after the member's id, librdkafka reads one more: a 1 there says
        // that nothing follows, and makes it see the wrong length.
        let padded = [bytes, &[1]].concat();
        // SAFETY: the bytes are only read, within their length and one more; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_consumer_group_metadata_read(
                &mut ptr,
                padded.as_ptr().cast(),
                bytes.len(),
            );
            take_error(error, "reading group metadata")
        }
        .map_err(|e| Error::argument(e.message))?;
        NonNull::new(ptr)
            .map(|ptr| GroupMetadata { ptr })
            .ok_or_else(|| Error::system("reading group metadata"))
    }
}

impl Drop for GroupMetadata {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { sys::rd_kafka_consumer_group_metadata_destroy(self.ptr.as_ptr()) };
    }
}

impl Client {
    /// Resumable: after a time-out it goes on, and the same call waits for the rest.
    pub fn transactions_init(&self, timeout: Option<Duration>) -> Result<(), Error> {
        // SAFETY: the client is alive; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_init_transactions(self.as_ptr(), clamp_ms(timeout));
            take_error(error, "transactions init")
        }
    }

    pub fn transaction_begin(&self) -> Result<(), Error> {
        // SAFETY: the client is alive; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_begin_transaction(self.as_ptr());
            take_error(error, "transaction begin")
        }
    }

    /// Resumable.
    pub fn transaction_commit(&self, timeout: Option<Duration>) -> Result<(), Error> {
        // SAFETY: the client is alive; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_commit_transaction(self.as_ptr(), clamp_ms(timeout));
            take_error(error, "transaction commit")
        }
    }

    /// Resumable.
    pub fn transaction_abort(&self, timeout: Option<Duration>) -> Result<(), Error> {
        // SAFETY: the client is alive; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_abort_transaction(self.as_ptr(), clamp_ms(timeout));
            take_error(error, "transaction abort")
        }
    }

    /// Not resumable: a time-out ends it. Never longer than the transaction's own time-out.
    pub fn transaction_offsets(
        &self,
        offsets: &PartitionList,
        group: &GroupMetadata,
        timeout: Option<Duration>,
    ) -> Result<(), Error> {
        // SAFETY: all are alive, list and metadata are copied; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_send_offsets_to_transaction(
                self.as_ptr(),
                offsets.as_ptr(),
                group.ptr.as_ptr(),
                clamp_ms(timeout),
            );
            take_error(error, "transaction offsets")
        }
    }
}
