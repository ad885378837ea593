//! From partitions named by topic number to a list of librdkafka's.

use crate::client::consumer::Partition;
use crate::client::topics::Topics;
use crate::error::{Error, Result};
use crate::rd::partitions::PartitionList;

pub(super) fn list(topics: &Topics, partitions: &[Partition<'_>]) -> Result<PartitionList> {
    let mut list = PartitionList::new(partitions.len())?;
    for p in partitions {
        let (topic, partition) = p.key;
        if partition < 0 {
            return Err(Error::argument(format!(
                "partition {partition} is negative"
            )));
        }
        let name = &topics.get(topic)?.name;
        list.add(name, partition)?
            .offset(p.offset)
            .leader_epoch(p.leader_epoch)
            .metadata(p.metadata);
    }
    Ok(list)
}
