//! librdkafka's calls about transactions, and the owner of a consumer group's metadata.

use super::client::Client;
use super::partitions::PartitionList;
use super::{c_string, clamp_ms, sys, take_error};
use crate::error::Error;
use crate::status::KABI_STATUS_UNKNOWN_GROUP;
use std::ffi::CStr;
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

    /// From the bytes that a consumer, perhaps in another process, was asked for. librdkafka's own reader
    /// runs past the end of bytes that were cut off, so it is not given any.
    pub fn read(bytes: &[u8]) -> Result<GroupMetadata, Error> {
        let said = Said::read(bytes).ok_or_else(|| {
            Error::argument("these bytes are no group metadata: they were changed or cut off")
        })?;
        // SAFETY: the texts are terminated and copied.
        let ptr = unsafe {
            sys::rd_kafka_consumer_group_metadata_new_with_genid(
                said.group.as_ptr(),
                said.generation,
                said.member.as_ptr(),
                said.instance.map_or(std::ptr::null(), CStr::as_ptr),
            )
        };
        NonNull::new(ptr)
            .map(|ptr| GroupMetadata { ptr })
            .ok_or_else(|| Error::system("reading group metadata"))
    }

    /// The group's generation, by KIP-848 the member's epoch; below 0 for who is no member.
    pub fn generation(&self) -> i32 {
        // SAFETY: owned.
        unsafe { sys::rd_kafka_consumer_group_metadata_generation_id(self.ptr.as_ptr()) }
    }
}

/// What librdkafka writes of a member: a mark, the generation in the machine's byte order, then group, member
/// and, after a 0, instance, each with a NUL. A 1 says that there is no instance.
struct Said<'b> {
    generation: i32,
    group: &'b CStr,
    member: &'b CStr,
    instance: Option<&'b CStr>,
}

impl Said<'_> {
    fn read(bytes: &[u8]) -> Option<Said<'_>> {
        let rest = bytes.strip_prefix(b"CGMDv2:")?;
        let (&generation, rest) = rest.split_first_chunk::<4>()?;
        let (group, rest) = id(rest)?;
        let (member, rest) = id(rest)?;
        let (instance, rest) = match rest.split_first()? {
            (0, rest) => id(rest).map(|(text, rest)| (Some(text), rest))?,
            (1, rest) => (None, rest),
            _ => return None,
        };
        (rest.is_empty() && !group.is_empty()).then_some(Said {
            generation: i32::from_ne_bytes(generation),
            group,
            member,
            instance,
        })
    }
}

/// A text up to its NUL, and what follows.
fn id(bytes: &[u8]) -> Option<(&CStr, &[u8])> {
    let id = CStr::from_bytes_until_nul(bytes).ok()?;
    let is_text = !id.to_str().ok()?.chars().any(char::is_control);
    let rest = bytes.get(id.to_bytes_with_nul().len()..)?;
    is_text.then_some((id, rest))
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

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBER: &[u8] = b"CGMDv2:\x07\0\0\0group\0member-1\0\x01";
    const STATIC: &[u8] = "CGMDv2:\x07\0\0\0gr\u{fc}ppe\0\0\0desk\0".as_bytes();

    #[test]
    fn what_a_member_says_is_read_as_it_was_written() {
        let said = Said::read(MEMBER).expect("a member");
        assert_eq!(said.generation, i32::from_ne_bytes([7, 0, 0, 0]));
        assert_eq!((said.group, said.member), (c"group", c"member-1"));
        assert_eq!(said.instance, None);
        let said = Said::read(STATIC).expect("a static member");
        assert_eq!(said.group.to_str(), Ok("gr\u{fc}ppe"));
        assert_eq!((said.member, said.instance), (c"", Some(c"desk")));
        let metadata = GroupMetadata::read(STATIC).expect("a static member");
        assert_eq!(metadata.generation(), said.generation);
    }

    #[test]
    fn what_is_cut_off_or_longer_is_refused() {
        for whole in [MEMBER, STATIC] {
            for length in 0..whole.len() {
                assert!(Said::read(&whole[..length]).is_none(), "{length}");
            }
            assert!(Said::read(&[whole, &[0]].concat()).is_none());
        }
        assert!(
            Said::read(b"CGMDv2:\0\0\0\0\0member\0\x01").is_none(),
            "no group"
        );
        assert!(Said::read(b"CGMDv2:\0\0\0\0g\0m\0\x02").is_none());
        assert!(Said::read(b"CGMDv2:\0\0\0\0g\n\0m\0\x01").is_none());
        assert!(Said::read(b"CGMDv2:\0\0\0\0g\xff\0m\0\x01").is_none());
    }
}
