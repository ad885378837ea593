//! What only a consumer's `rd_kafka_t` does beyond reading: its place in the group, pauses, and questions
//! about offsets. Calls that ask brokers block up to their time-out and can't be cut short.

use super::client::Client;
use super::partitions::PartitionList;
use super::queue::Queue;
use super::{c_string, check, clamp_ms, sys, take_error, text_of};
use crate::error::Error;
use std::ffi::{c_void, CStr};
use std::time::Duration;

impl Client {
    /// Stops the flow of these partitions. Each one's own outcome is in the list.
    pub fn pause(&self, list: &mut PartitionList) -> Result<(), Error> {
        // SAFETY: both are alive; elements are updated in place.
        check(
            unsafe { sys::rd_kafka_pause_partitions(self.as_ptr(), list.as_ptr()) },
            "pause",
        )
    }

    /// Lets paused partitions flow again. One that is not paused must not be named: librdkafka would
    /// read it again from where it was last started.
    pub fn resume(&self, list: &mut PartitionList) -> Result<(), Error> {
        // SAFETY: both are alive; elements are updated in place.
        check(
            unsafe { sys::rd_kafka_resume_partitions(self.as_ptr(), list.as_ptr()) },
            "resume",
        )
    }

    /// The topics and expressions subscribed to.
    pub fn subscription(&self) -> Result<PartitionList, Error> {
        let mut list = std::ptr::null_mut();
        // SAFETY: the client is alive; the list written is ours.
        check(
            unsafe { sys::rd_kafka_subscription(self.as_ptr(), &mut list) },
            "subscription",
        )?;
        PartitionList::from_raw(list)
    }

    /// The group dropped this member, so that others may have its partitions already.
    pub fn is_assignment_lost(&self) -> bool {
        // SAFETY: the client is alive.
        unsafe { sys::rd_kafka_assignment_lost(self.as_ptr()) != 0 }
    }

    /// "NONE", "EAGER" or "COOPERATIVE".
    pub fn rebalance_protocol(&self) -> &'static CStr {
        // SAFETY: the client is alive; the string is static or NULL.
        unsafe {
            let name = sys::rd_kafka_rebalance_protocol(self.as_ptr());
            if name.is_null() {
                c"NONE"
            } else {
                CStr::from_ptr(name)
            }
        }
    }

    /// The name that the group knows this member by; empty before it has joined.
    pub fn member_id(&self) -> String {
        // SAFETY: the client is alive; the text is ours to free, and copied before.
        unsafe {
            let raw = sys::rd_kafka_memberid(self.as_ptr());
            let id = text_of(raw);
            if !raw.is_null() {
                sys::rd_kafka_mem_free(self.as_ptr(), raw.cast());
            }
            id
        }
    }

    /// Group, generation and member in librdkafka's own form, for a producer's transaction.
    pub fn group_metadata(&self) -> Result<Vec<u8>, Error> {
        // SAFETY: the client is alive; the object is ours, NULL without a group.
        let metadata = unsafe { sys::rd_kafka_consumer_group_metadata(self.as_ptr()) };
        if metadata.is_null() {
            return Err(Error::of_code(
                crate::status::KABI_STATUS_UNKNOWN_GROUP,
                "group metadata",
            ));
        }
        let mut buffer: *mut c_void = std::ptr::null_mut();
        let mut size = 0usize;
        // SAFETY: `metadata` is ours and freed once; on success the buffer has `size` bytes and is ours to
        // free, which is done after the copy.
        unsafe {
            let error =
                sys::rd_kafka_consumer_group_metadata_write(metadata, &mut buffer, &mut size);
            sys::rd_kafka_consumer_group_metadata_destroy(metadata);
            take_error(error, "group metadata")?;
            let bytes = if buffer.is_null() {
                Vec::new()
            } else {
                std::slice::from_raw_parts(buffer.cast::<u8>(), size).to_vec()
            };
            sys::rd_kafka_mem_free(self.as_ptr(), buffer);
            Ok(bytes)
        }
    }

    /// Fills in how far the queue of records was read, markers of transactions included; a negative number
    /// for a partition of which nothing was read.
    pub fn positions(&self, list: &mut PartitionList) {
        // SAFETY: both are alive; elements are updated in place.
        unsafe { sys::rd_kafka_position(self.as_ptr(), list.as_ptr()) };
    }

    /// Replaces each element's offset, a timestamp, by the first offset at or after it, -1 if there is none.
    pub fn offsets_for_times(
        &self,
        list: &mut PartitionList,
        timeout: Duration,
    ) -> Result<(), Error> {
        // SAFETY: both are alive; elements are updated in place.
        let code = unsafe {
            sys::rd_kafka_offsets_for_times(self.as_ptr(), list.as_ptr(), clamp_ms(Some(timeout)))
        };
        check(code, "offsets for times")
    }

    /// Asks for a partition's first offset and its end.
    pub fn query_watermarks(
        &self,
        topic: &str,
        partition: i32,
        timeout: Duration,
    ) -> Result<(i64, i64), Error> {
        let name = c_string(topic, "the topic name")?;
        let (mut low, mut high) = (0, 0);
        // SAFETY: all are alive during the call.
        let code = unsafe {
            sys::rd_kafka_query_watermark_offsets(
                self.as_ptr(),
                name.as_ptr(),
                partition,
                &mut low,
                &mut high,
                clamp_ms(Some(timeout)),
            )
        };
        check(code, "watermarks").map(|()| (low, high))
    }

    /// The same as fetches and statistics last told; negative numbers for what they did not.
    pub fn cached_watermarks(&self, topic: &str, partition: i32) -> Result<(i64, i64), Error> {
        let name = c_string(topic, "the topic name")?;
        let (mut low, mut high) = (-1, -1);
        // SAFETY: all are alive during the call.
        let code = unsafe {
            sys::rd_kafka_get_watermark_offsets(
                self.as_ptr(),
                name.as_ptr(),
                partition,
                &mut low,
                &mut high,
            )
        };
        check(code, "watermarks").map(|()| (low, high))
    }

    /// Starts a commit (`None`: of what is stored) whose outcome arrives on `queue` with this number.
    pub fn commit_numbered(
        &self,
        offsets: Option<&PartitionList>,
        queue: &Queue,
        number: u64,
    ) -> Result<(), Error> {
        let list = offsets.map_or(std::ptr::null(), |p| p.as_ptr().cast_const());
        // SAFETY: all are alive; the list is copied; no callback, so the outcome is an event; the opaque is
        // a number that librdkafka only carries.
        let code = unsafe {
            sys::rd_kafka_commit_queue(
                self.as_ptr(),
                list,
                queue.as_ptr(),
                None,
                number as *mut c_void,
            )
        };
        check(code, "commit")
    }
}
