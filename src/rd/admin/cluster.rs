//! The cluster, and the metadata of topics.

use super::{
    array, check, clamp_ms, listed, node, nodes, operations, optional_text, result_of, said, sys,
    text_of, Ask, Asked, Op,
};
use crate::document::{ClusterDescribe, ClusterDescription, PartitionMetadata, TopicMetadata};
use crate::error::Error;
use crate::rd::client::Client;
use crate::rd::queue::Event;
use std::time::Duration;

impl Ask for ClusterDescribe {
    type Answer = ClusterDescription;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to
            .options(Op::RD_KAFKA_ADMIN_OP_DESCRIBECLUSTER)?
            .authorized_operations(self.authorized_operations)?;
        // SAFETY: all are alive.
        unsafe { sys::rd_kafka_DescribeCluster(to.rk(), options.as_ptr(), to.queue.as_ptr()) };
        Ok(())
    }

    fn answer(event: &Event) -> Option<ClusterDescription> {
        let result = result_of(event, sys::rd_kafka_event_DescribeCluster_result)?;
        // SAFETY: the result and all that it holds is alive with the event; what is taken is copied.
        unsafe {
            Some(ClusterDescription {
                id: optional_text(sys::rd_kafka_DescribeCluster_result_cluster_id(result)),
                controller: node(sys::rd_kafka_DescribeCluster_result_controller(result)),
                brokers: nodes(listed(|n| {
                    sys::rd_kafka_DescribeCluster_result_nodes(result, n)
                })),
                authorized_operations: operations(|n| {
                    sys::rd_kafka_DescribeCluster_result_authorized_operations(result, n)
                }),
            })
        }
    }
}

/// What a broker says of the cluster.
pub struct Seen {
    /// The broker that was asked.
    pub broker: Option<i32>,
    /// The topics, if they were asked for.
    pub topics: Vec<TopicMetadata>,
}

/// Asks any broker for its metadata, of all topics or of none. Waits for it; nothing cuts that short.
pub fn metadata(client: &Client, topics: bool, timeout: Duration) -> Result<Seen, Error> {
    let mut metadata = std::ptr::null();
    // SAFETY: the client is alive; on success the metadata written is ours.
    let code = unsafe {
        sys::rd_kafka_metadata(
            client.as_ptr(),
            i32::from(topics),
            std::ptr::null_mut(),
            &mut metadata,
            clamp_ms(Some(timeout)),
        )
    };
    check(code, "metadata")?;
    // SAFETY: ours until the destroy below, which is the last use; what is taken is copied.
    unsafe {
        let list: &sys::rd_kafka_metadata = &*metadata;
        let brokers = array(list.brokers.cast_const(), count(list.broker_cnt));
        // An address from the configuration has no number yet when it is first asked.
        let asked = Some(list.orig_broker_id).filter(|id| *id >= 0);
        let wanted = count(if topics { list.topic_cnt } else { 0 });
        let seen = Seen {
            broker: asked.or_else(|| brokers.first().map(|b| b.id)),
            topics: array(list.topics.cast_const(), wanted)
                .iter()
                .map(|t| topic(t))
                .collect(),
        };
        sys::rd_kafka_metadata_destroy(metadata);
        Ok(seen)
    }
}

fn count(count: i32) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// The code in a field that bindgen made a Rust enum, read as the integer that C wrote.
///
/// # Safety
/// `field` is alive.
unsafe fn code(field: *const sys::rd_kafka_resp_err_t) -> i32 {
    // SAFETY: alive, and as large as an i32 (see `sys`).
    unsafe { field.cast::<i32>().read() }
}

/// # Safety
/// The topic is alive.
unsafe fn topic(topic: *const sys::rd_kafka_metadata_topic) -> TopicMetadata {
    // SAFETY: alive, and never read as a whole, for its enum may hold what Rust does not know.
    unsafe {
        let partitions = array(
            (*topic).partitions.cast_const(),
            count((*topic).partition_cnt),
        );
        TopicMetadata {
            topic: text_of((*topic).topic),
            status: said(code(&raw const (*topic).err)),
            partitions: partitions.iter().map(|p| partition(p)).collect(),
        }
    }
}

/// # Safety
/// The partition is alive.
unsafe fn partition(partition: *const sys::rd_kafka_metadata_partition) -> PartitionMetadata {
    // SAFETY: as above.
    unsafe {
        let leader = (*partition).leader;
        let brokers = |first: *mut i32, n| array(first.cast_const(), count(n)).to_vec();
        PartitionMetadata {
            partition: (*partition).id,
            leader: (leader >= 0).then_some(leader),
            replicas: brokers((*partition).replicas, (*partition).replica_cnt),
            in_sync: brokers((*partition).isrs, (*partition).isr_cnt),
            status: said(code(&raw const (*partition).err)),
        }
    }
}
