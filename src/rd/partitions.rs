//! Owner of a `rd_kafka_topic_partition_list_t`, for every call that names partitions.

use super::{c_string, sys};
use crate::document::TopicPartition;
use crate::error::Error;
use std::ffi::CStr;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

pub struct PartitionList {
    ptr: NonNull<sys::rd_kafka_topic_partition_list_t>,
}

// SAFETY: plain memory without thread affinity; &PartitionList only reads it.
unsafe impl Send for PartitionList {}

impl PartitionList {
    pub fn new(capacity: usize) -> Result<PartitionList, Error> {
        let capacity = i32::try_from(capacity)
            .map_err(|_| Error::argument(format!("{capacity} partitions are too many")))?;
        // SAFETY: plain allocation.
        Self::from_raw(unsafe { sys::rd_kafka_topic_partition_list_new(capacity) })
    }

    /// A list of these partitions, without offsets.
    pub fn of(partitions: &[TopicPartition]) -> Result<PartitionList, Error> {
        let mut list = PartitionList::new(partitions.len())?;
        for p in partitions {
            list.add(&p.topic, p.partition)?;
        }
        Ok(list)
    }

    pub(super) fn from_raw(
        ptr: *mut sys::rd_kafka_topic_partition_list_t,
    ) -> Result<PartitionList, Error> {
        NonNull::new(ptr)
            .map(|ptr| PartitionList { ptr })
            .ok_or_else(|| Error::system("making a partition list"))
    }

    /// A list that librdkafka owns; never freed from here.
    ///
    /// # Safety
    /// `ptr` is NULL or a list that outlives what is returned.
    pub(super) unsafe fn borrow(
        ptr: *mut sys::rd_kafka_topic_partition_list_t,
    ) -> Option<ManuallyDrop<PartitionList>> {
        NonNull::new(ptr).map(|ptr| ManuallyDrop::new(PartitionList { ptr }))
    }

    pub(super) fn as_ptr(&self) -> *mut sys::rd_kafka_topic_partition_list_t {
        self.ptr.as_ptr()
    }

    pub fn duplicate(&self) -> PartitionList {
        // SAFETY: the list is alive; a copy of a list is never NULL (librdkafka aborts out of memory).
        PartitionList {
            ptr: unsafe {
                NonNull::new_unchecked(sys::rd_kafka_topic_partition_list_copy(self.as_ptr()))
            },
        }
    }

    pub fn len(&self) -> usize {
        // SAFETY: the list is alive.
        usize::try_from(unsafe { self.ptr.as_ref() }.cnt).unwrap_or(0)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn add(&mut self, topic: &str, partition: i32) -> Result<ElementMut<'_>, Error> {
        let topic = c_string(topic, "the topic name")?;
        // SAFETY: the list is alive and the name is copied; an added element is never NULL.
        let element = unsafe {
            sys::rd_kafka_topic_partition_list_add(self.as_ptr(), topic.as_ptr(), partition)
        };
        match NonNull::new(element) {
            // SAFETY: the element stays in place while the list is mutably borrowed.
            Some(mut ptr) => Ok(ElementMut {
                element: unsafe { ptr.as_mut() },
            }),
            None => Err(Error::system("adding a partition")),
        }
    }

    /// Changes the offsets of elements for which `change` has one, with its leader epoch.
    pub fn move_offsets(&mut self, mut change: impl FnMut(Element<'_>) -> Option<(i64, i32)>) {
        for index in 0..self.len() {
            // SAFETY: the array holds `cnt` elements, and nobody else has a reference to one while the
            // list is mutably borrowed.
            let element = unsafe { &mut *self.ptr.as_ref().elems.add(index) };
            if let Some((offset, epoch)) = change(Element { element }) {
                let _ = ElementMut { element }.offset(offset).leader_epoch(epoch);
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Element<'_>> {
        // SAFETY: the list is alive; the array holds `cnt` elements (and may be NULL for none).
        let elements = unsafe {
            let list = self.ptr.as_ref();
            match NonNull::new(list.elems) {
                Some(first) => std::slice::from_raw_parts(first.as_ptr(), self.len()),
                None => &[],
            }
        };
        elements.iter().map(|element| Element { element })
    }
}

impl Drop for PartitionList {
    fn drop(&mut self) {
        // SAFETY: owned.
        unsafe { sys::rd_kafka_topic_partition_list_destroy(self.as_ptr()) };
    }
}

#[derive(Clone, Copy)]
pub struct Element<'a> {
    element: &'a sys::rd_kafka_topic_partition_t,
}

impl<'a> Element<'a> {
    /// # Safety
    /// `ptr` is NULL or an element that outlives what is returned.
    pub(super) unsafe fn from_raw(
        ptr: *const sys::rd_kafka_topic_partition_t,
    ) -> Option<Element<'a>> {
        // SAFETY: by the contract.
        unsafe { ptr.as_ref() }.map(|element| Element { element })
    }

    pub fn topic(&self) -> &'a str {
        // SAFETY: librdkafka keeps a terminated name in each element.
        let name = unsafe { CStr::from_ptr(self.element.topic) };
        // Kafka's topic names are ASCII; one that is not UTF-8 matches no name of ours.
        name.to_str().unwrap_or("")
    }

    pub fn partition(&self) -> i32 {
        self.element.partition
    }

    pub fn offset(&self) -> i64 {
        self.element.offset
    }

    pub fn code(&self) -> i32 {
        // SAFETY: read as the integer that C wrote, which the Rust enum may not know.
        unsafe { std::ptr::addr_of!(self.element.err).cast::<i32>().read() }
    }

    pub fn leader_epoch(&self) -> i32 {
        // SAFETY: the element is alive.
        unsafe { sys::rd_kafka_topic_partition_get_leader_epoch(self.element) }
    }

    pub fn metadata(&self) -> Option<&'a [u8]> {
        if self.element.metadata.is_null() {
            return None;
        }
        // SAFETY: librdkafka keeps `metadata_size` bytes there, alive with the element.
        Some(unsafe {
            std::slice::from_raw_parts(
                self.element.metadata.cast::<u8>(),
                self.element.metadata_size,
            )
        })
    }
}

pub struct ElementMut<'a> {
    element: &'a mut sys::rd_kafka_topic_partition_t,
}

impl ElementMut<'_> {
    pub fn offset(self, offset: i64) -> Self {
        self.element.offset = offset;
        self
    }

    pub fn leader_epoch(self, epoch: i32) -> Self {
        if epoch >= 0 {
            // SAFETY: the element is alive and ours.
            unsafe { sys::rd_kafka_topic_partition_set_leader_epoch(self.element, epoch) };
        }
        self
    }

    pub fn metadata(self, metadata: Option<&[u8]>) -> Self {
        let Some(bytes) = metadata else { return self };
        // librdkafka frees the metadata with free(), so it has to come from malloc; one byte at least,
        // since malloc(0) may give the NULL that would mean "none".
        // SAFETY: the copy has room for the bytes; what was there before is freed once.
        unsafe {
            let copy = libc::malloc(bytes.len().max(1));
            if !copy.is_null() {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), copy.cast(), bytes.len());
                libc::free(self.element.metadata);
                self.element.metadata = copy;
                self.element.metadata_size = bytes.len();
            }
        }
        self
    }
}
