//! Owner of a `rd_kafka_topic_t`: a topic that a producer sends to, or whose address a consumer uses as
//! the topic's identity.

use super::client::Client;
use super::{c_string, sys};
use crate::error::Error;
use std::ptr::NonNull;
use std::sync::Arc;

pub struct Topic {
    ptr: NonNull<sys::rd_kafka_topic_t>,
    client: Arc<Client>,
}

// SAFETY: librdkafka's topic handles are reference counted and locked inside.
unsafe impl Send for Topic {}
// SAFETY: as above.
unsafe impl Sync for Topic {}

impl Topic {
    pub fn new(client: &Arc<Client>, name: &str) -> Result<Topic, Error> {
        let c_name = c_string(name, "the topic name")?;
        // SAFETY: the client is alive, the name terminated; NULL takes the client's topic defaults.
        let ptr = unsafe {
            sys::rd_kafka_topic_new(client.as_ptr(), c_name.as_ptr(), std::ptr::null_mut())
        };
        match NonNull::new(ptr) {
            Some(ptr) => Ok(Topic {
                ptr,
                client: Arc::clone(client),
            }),
            None => {
                // SAFETY: no arguments.
                let code = unsafe { sys::rd_kafka_last_error() };
                Err(Error::of_code(code, &format!("topic {name:?}")))
            }
        }
    }

    /// Waits until librdkafka has seen to what was asked of a partition before. For one that was just
    /// unassigned: until it has stopped. A seek goes the same way as the order to stop, behind it, and
    /// has no effect on a partition that is not read.
    pub fn wait_for_partition(&self, partition: i32) {
        const PATIENCE_MS: i32 = 1000;
        // SAFETY: the topic is alive. The outcome, that the partition is not read, is of no interest.
        unsafe { sys::rd_kafka_seek(self.as_ptr(), partition, 0, PATIENCE_MS) };
    }

    pub(super) fn as_ptr(&self) -> *mut sys::rd_kafka_topic_t {
        self.ptr.as_ptr()
    }

    pub(super) fn client(&self) -> &Client {
        &self.client
    }
}

impl Drop for Topic {
    fn drop(&mut self) {
        // SAFETY: owned; the client is still held.
        unsafe { sys::rd_kafka_topic_destroy(self.as_ptr()) };
    }
}
