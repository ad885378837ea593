//! Offsets: what groups have committed, and where partitions begin and end.

use super::{c_string, listed, made, result_of, said, status, sys, text_of, Ask, Asked, Op};
use super::{take_error, Owned};
use crate::document::{
    failed, GroupOffset, GroupOffsets, GroupOffsetsAlter, GroupOffsetsDelete, GroupOffsetsList,
    Isolation, OffsetAt, OffsetListing, OffsetListings, OffsetsList,
};
use crate::error::Error;
use crate::rd::partitions::{Element, PartitionList};
use crate::rd::queue::Event;
use sys::rd_kafka_OffsetSpec_t as Spec;

impl Ask for GroupOffsetsList {
    type Answer = GroupOffsets;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPOFFSETS)?;
        // SAFETY: the options are alive; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_AdminOptions_set_require_stable_offsets(
                options.as_ptr(),
                i32::from(self.require_stable),
            );
            take_error(error, "asking for stable offsets")?;
        }
        let group = c_string(&self.group, "the group's name")?;
        let list = self
            .partitions
            .as_ref()
            .map(|p| PartitionList::of(p))
            .transpose()?;
        let list = list.as_ref().map_or(std::ptr::null_mut(), |l| l.as_ptr());
        // SAFETY: the name is terminated, the list NULL (all partitions) or alive; both are copied.
        let asked: Owned<_> = made(
            unsafe { sys::rd_kafka_ListConsumerGroupOffsets_new(group.as_ptr(), list) },
            sys::rd_kafka_ListConsumerGroupOffsets_destroy,
        )?;
        to.hand_over(sys::rd_kafka_ListConsumerGroupOffsets, &[asked], &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<GroupOffsets> {
        let result = result_of(event, sys::rd_kafka_event_ListConsumerGroupOffsets_result)?;
        // SAFETY: the result is alive with the event.
        group_offsets(unsafe {
            listed(|n| sys::rd_kafka_ListConsumerGroupOffsets_result_groups(result, n))
        })
    }
}

/// librdkafka asks for one group at a time.
fn group_offsets(groups: &[*const sys::rd_kafka_group_result_t]) -> Option<GroupOffsets> {
    let group = *groups.first()?;
    // SAFETY: the group and its list are alive with the event; the list is only read.
    let (name, status, list) = unsafe {
        (
            text_of(sys::rd_kafka_group_result_name(group)),
            status(sys::rd_kafka_group_result_error(group)),
            PartitionList::borrow(sys::rd_kafka_group_result_partitions(group).cast_mut()),
        )
    };
    let partitions: Vec<_> = list
        .iter()
        .flat_map(|l| l.iter().map(|p| group_offset(&p)))
        .collect();
    Some(GroupOffsets {
        group: name,
        failed: failed(&partitions) + usize::from(status.is_failure()),
        status,
        partitions,
    })
}

fn group_offset(partition: &Element<'_>) -> GroupOffset {
    let has_one = partition.offset() >= 0;
    let (text, hex) = match partition.metadata().filter(|_| has_one) {
        None => (None, None),
        Some(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => (Some(text.to_owned()), None),
            Err(_) => (
                None,
                Some(bytes.iter().map(|b| format!("{b:02x}")).collect()),
            ),
        },
    };
    GroupOffset {
        topic: partition.topic().to_owned(),
        partition: partition.partition(),
        offset: has_one.then(|| partition.offset()),
        leader_epoch: Some(partition.leader_epoch()).filter(|e| *e >= 0),
        metadata: text,
        metadata_hex: hex,
        status: said(partition.code()),
    }
}

impl Ask for GroupOffsetsAlter {
    type Answer = GroupOffsets;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_ALTERCONSUMERGROUPOFFSETS)?;
        let group = c_string(&self.group, "the group's name")?;
        let mut list = PartitionList::new(self.offsets.len())?;
        for new in &self.offsets {
            list.add(&new.topic, new.partition)?
                .offset(new.offset)
                .leader_epoch(new.leader_epoch.unwrap_or(-1))
                .metadata(new.metadata.as_ref().map(|m| m.as_bytes()));
        }
        // SAFETY: the name is terminated and the list alive; both are copied.
        let asked: Owned<_> = made(
            unsafe { sys::rd_kafka_AlterConsumerGroupOffsets_new(group.as_ptr(), list.as_ptr()) },
            sys::rd_kafka_AlterConsumerGroupOffsets_destroy,
        )?;
        to.hand_over(sys::rd_kafka_AlterConsumerGroupOffsets, &[asked], &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<GroupOffsets> {
        let result = result_of(event, sys::rd_kafka_event_AlterConsumerGroupOffsets_result)?;
        // SAFETY: the result is alive with the event.
        group_offsets(unsafe {
            listed(|n| sys::rd_kafka_AlterConsumerGroupOffsets_result_groups(result, n))
        })
    }
}

impl Ask for GroupOffsetsDelete {
    type Answer = GroupOffsets;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_DELETECONSUMERGROUPOFFSETS)?;
        let group = c_string(&self.group, "the group's name")?;
        let list = PartitionList::of(&self.partitions)?;
        // SAFETY: the name is terminated and the list alive; both are copied.
        let asked: Owned<_> = made(
            unsafe { sys::rd_kafka_DeleteConsumerGroupOffsets_new(group.as_ptr(), list.as_ptr()) },
            sys::rd_kafka_DeleteConsumerGroupOffsets_destroy,
        )?;
        to.hand_over(sys::rd_kafka_DeleteConsumerGroupOffsets, &[asked], &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<GroupOffsets> {
        let result = result_of(event, sys::rd_kafka_event_DeleteConsumerGroupOffsets_result)?;
        // SAFETY: the result is alive with the event.
        group_offsets(unsafe {
            listed(|n| sys::rd_kafka_DeleteConsumerGroupOffsets_result_groups(result, n))
        })
    }
}

impl Ask for OffsetsList {
    type Answer = OffsetListings;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_LISTOFFSETS)?;
        let level = match self.isolation {
            Isolation::ReadUncommitted => {
                sys::rd_kafka_IsolationLevel_t::RD_KAFKA_ISOLATION_LEVEL_READ_UNCOMMITTED
            }
            Isolation::ReadCommitted => {
                sys::rd_kafka_IsolationLevel_t::RD_KAFKA_ISOLATION_LEVEL_READ_COMMITTED
            }
        };
        // SAFETY: the options are alive; the error object is ours.
        unsafe {
            let error = sys::rd_kafka_AdminOptions_set_isolation_level(options.as_ptr(), level);
            take_error(error, "setting the isolation level")?;
        }
        let mut list = PartitionList::new(self.partitions.len())?;
        for p in &self.partitions {
            let offset = match p.at {
                OffsetAt::Earliest => Spec::RD_KAFKA_OFFSET_SPEC_EARLIEST as i64,
                OffsetAt::Latest => Spec::RD_KAFKA_OFFSET_SPEC_LATEST as i64,
                OffsetAt::MaxTimestamp => Spec::RD_KAFKA_OFFSET_SPEC_MAX_TIMESTAMP as i64,
                OffsetAt::Timestamp => p.timestamp.unwrap_or(0),
            };
            list.add(&p.topic, p.partition)?.offset(offset);
        }
        // SAFETY: all are alive; the list is copied.
        unsafe {
            sys::rd_kafka_ListOffsets(to.rk(), list.as_ptr(), options.as_ptr(), to.queue.as_ptr());
        }
        Ok(())
    }

    fn answer(event: &Event) -> Option<OffsetListings> {
        let result = result_of(event, sys::rd_kafka_event_ListOffsets_result)?;
        // SAFETY: the result and its elements are alive with the event; what is taken is copied.
        let partitions: Vec<_> = unsafe {
            listed(|n| sys::rd_kafka_ListOffsets_result_infos(result, n))
                .iter()
                .filter_map(|info| listing(*info))
                .collect()
        };
        Some(OffsetListings {
            failed: failed(&partitions),
            partitions,
        })
    }
}

/// # Safety
/// `info` is alive.
unsafe fn listing(info: *const sys::rd_kafka_ListOffsetsResultInfo_t) -> Option<OffsetListing> {
    // SAFETY: the info and its partition are alive.
    let (partition, timestamp) = unsafe {
        (
            Element::from_raw(sys::rd_kafka_ListOffsetsResultInfo_topic_partition(info))?,
            sys::rd_kafka_ListOffsetsResultInfo_timestamp(info),
        )
    };
    let found = partition.code() == 0 && partition.offset() >= 0;
    Some(OffsetListing {
        topic: partition.topic().to_owned(),
        partition: partition.partition(),
        offset: found.then(|| partition.offset()),
        timestamp: Some(timestamp).filter(|t| found && *t >= 0),
        leader_epoch: Some(partition.leader_epoch()).filter(|e| found && *e >= 0),
        status: said(partition.code()),
    })
}
