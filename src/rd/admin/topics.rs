//! Topics, partitions, records, leaders.

use super::{c_string, listed, sys, text_of, value_string};
use super::{
    made, made_or_why, node, nodes, operations, refused, result_of, said, set, status, Ask, Asked,
    Names, Op, Owned,
};
use crate::document::{
    failed, DeletedBefore, Election, LeadersElect, MorePartitions, NewTopic, PartitionDescription,
    PartitionOutcome, PartitionOutcomes, PartitionsCreate, RecordsDelete, RecordsDeleted, Status,
    TopicDescription, TopicDescriptions, TopicOutcome, TopicOutcomes, TopicsCreate, TopicsDelete,
    TopicsDescribe,
};
use crate::error::Error;
use crate::rd::partitions::{Element, PartitionList};
use crate::rd::queue::Event;

impl Ask for TopicsCreate {
    type Answer = TopicOutcomes;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to
            .options(Op::RD_KAFKA_ADMIN_OP_CREATETOPICS)?
            .operation_timeout(to)?
            .validate_only(self.validate_only)?;
        let topics = self
            .topics
            .iter()
            .map(new_topic)
            .collect::<Result<Vec<_>, _>>()?;
        to.hand_over(sys::rd_kafka_CreateTopics, &topics, &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<TopicOutcomes> {
        let result = result_of(event, sys::rd_kafka_event_CreateTopics_result)?;
        // SAFETY: the result is alive with the event.
        Some(outcomes(unsafe {
            listed(|n| sys::rd_kafka_CreateTopics_result_topics(result, n))
        }))
    }
}

fn new_topic(topic: &NewTopic) -> Result<Owned<sys::rd_kafka_NewTopic_t>, Error> {
    let name = c_string(&topic.topic, "the topic name")?;
    let placed = topic.placement.as_ref();
    let partitions = placed
        .and_then(|p| i32::try_from(p.len()).ok())
        .or(topic.partitions)
        .unwrap_or(-1);
    let replication = topic.replication.unwrap_or(-1);
    let made = made_or_why(
        // SAFETY: the name is terminated, the buffer has the given size.
        |text, size| unsafe {
            sys::rd_kafka_NewTopic_new(name.as_ptr(), partitions, replication, text, size)
        },
        sys::rd_kafka_NewTopic_destroy,
    )?;
    for (index, brokers) in (0..).zip(placed.into_iter().flatten()) {
        let mut brokers = brokers.clone();
        // SAFETY: all are alive; the brokers are copied.
        set(|text, size| unsafe {
            sys::rd_kafka_NewTopic_set_replica_assignment(
                made.as_ptr(),
                index,
                brokers.as_mut_ptr(),
                brokers.len(),
                text,
                size,
            )
        })?;
    }
    for (key, value) in &topic.configs {
        let c_key = c_string(key, "a property's name")?;
        let c_value = value_string(value)?;
        // SAFETY: all are alive and terminated; texts are copied.
        let code = unsafe {
            sys::rd_kafka_NewTopic_set_config(made.as_ptr(), c_key.as_ptr(), c_value.as_ptr())
        };
        refused(code, "the property", key)?;
    }
    Ok(made)
}

fn outcomes(topics: &[*const sys::rd_kafka_topic_result_t]) -> TopicOutcomes {
    let topics: Vec<_> = topics
        .iter()
        // SAFETY: the elements are alive with the event; texts are copied.
        .map(|topic| unsafe {
            TopicOutcome {
                topic: text_of(sys::rd_kafka_topic_result_name(*topic)),
                status: Status::new(
                    sys::rd_kafka_topic_result_error(*topic),
                    text_of(sys::rd_kafka_topic_result_error_string(*topic)),
                ),
            }
        })
        .collect();
    TopicOutcomes {
        failed: failed(&topics),
        topics,
    }
}

impl Ask for TopicsDelete {
    type Answer = TopicOutcomes;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to
            .options(Op::RD_KAFKA_ADMIN_OP_DELETETOPICS)?
            .operation_timeout(to)?;
        let topics = self
            .topics
            .iter()
            .map(|topic| {
                let name = c_string(topic, "the topic name")?;
                // SAFETY: the name is terminated and copied.
                let made_of = unsafe { sys::rd_kafka_DeleteTopic_new(name.as_ptr()) };
                made(made_of, sys::rd_kafka_DeleteTopic_destroy)
            })
            .collect::<Result<Vec<_>, _>>()?;
        to.hand_over(sys::rd_kafka_DeleteTopics, &topics, &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<TopicOutcomes> {
        let result = result_of(event, sys::rd_kafka_event_DeleteTopics_result)?;
        // SAFETY: the result is alive with the event.
        Some(outcomes(unsafe {
            listed(|n| sys::rd_kafka_DeleteTopics_result_topics(result, n))
        }))
    }
}

impl Ask for PartitionsCreate {
    type Answer = TopicOutcomes;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to
            .options(Op::RD_KAFKA_ADMIN_OP_CREATEPARTITIONS)?
            .operation_timeout(to)?
            .validate_only(self.validate_only)?;
        let topics = self
            .topics
            .iter()
            .map(more_partitions)
            .collect::<Result<Vec<_>, _>>()?;
        to.hand_over(sys::rd_kafka_CreatePartitions, &topics, &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<TopicOutcomes> {
        let result = result_of(event, sys::rd_kafka_event_CreatePartitions_result)?;
        // SAFETY: the result is alive with the event.
        Some(outcomes(unsafe {
            listed(|n| sys::rd_kafka_CreatePartitions_result_topics(result, n))
        }))
    }
}

fn more_partitions(more: &MorePartitions) -> Result<Owned<sys::rd_kafka_NewPartitions_t>, Error> {
    let name = c_string(&more.topic, "the topic name")?;
    let total = usize::try_from(more.total).unwrap_or(0);
    let made = made_or_why(
        // SAFETY: the name is terminated, the buffer has the given size.
        |text, size| unsafe { sys::rd_kafka_NewPartitions_new(name.as_ptr(), total, text, size) },
        sys::rd_kafka_NewPartitions_destroy,
    )?;
    for (index, brokers) in (0..).zip(more.placement.iter().flatten()) {
        let mut brokers = brokers.clone();
        // SAFETY: all are alive; the brokers are copied.
        set(|text, size| unsafe {
            sys::rd_kafka_NewPartitions_set_replica_assignment(
                made.as_ptr(),
                index,
                brokers.as_mut_ptr(),
                brokers.len(),
                text,
                size,
            )
        })?;
    }
    Ok(made)
}

impl Ask for TopicsDescribe {
    type Answer = TopicDescriptions;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to
            .options(Op::RD_KAFKA_ADMIN_OP_DESCRIBETOPICS)?
            .authorized_operations(self.authorized_operations)?;
        let mut names = Names::new(&self.topics, "the topic name")?;
        // SAFETY: the names are alive and copied.
        let collection = made(
            unsafe {
                sys::rd_kafka_TopicCollection_of_topic_names(names.as_mut_ptr(), names.len())
            },
            sys::rd_kafka_TopicCollection_destroy,
        )?;
        // SAFETY: all are alive; the collection is copied.
        unsafe {
            sys::rd_kafka_DescribeTopics(
                to.rk(),
                collection.as_ptr(),
                options.as_ptr(),
                to.queue.as_ptr(),
            );
        }
        Ok(())
    }

    fn answer(event: &Event) -> Option<TopicDescriptions> {
        let result = result_of(event, sys::rd_kafka_event_DescribeTopics_result)?;
        // SAFETY: the result and its elements are alive with the event.
        let topics: Vec<_> = unsafe {
            listed(|n| sys::rd_kafka_DescribeTopics_result_topics(result, n))
                .iter()
                .map(|topic| description(*topic))
                .collect()
        };
        Some(TopicDescriptions {
            failed: failed(&topics),
            topics,
        })
    }
}

/// # Safety
/// `topic` is alive.
unsafe fn description(topic: *const sys::rd_kafka_TopicDescription_t) -> TopicDescription {
    // SAFETY: the topic and all that it holds is alive; what is taken is copied.
    unsafe {
        let partitions = listed(|n| sys::rd_kafka_TopicDescription_partitions(topic, n));
        TopicDescription {
            topic: text_of(sys::rd_kafka_TopicDescription_name(topic)),
            status: status(sys::rd_kafka_TopicDescription_error(topic)),
            id: topic_id(sys::rd_kafka_TopicDescription_topic_id(topic)),
            internal: sys::rd_kafka_TopicDescription_is_internal(topic) != 0,
            partitions: partitions.iter().map(|p| partition(*p)).collect(),
            authorized_operations: operations(|n| {
                sys::rd_kafka_TopicDescription_authorized_operations(topic, n)
            }),
        }
    }
}

/// # Safety
/// `id` is NULL or alive.
unsafe fn topic_id(id: *const sys::rd_kafka_Uuid_t) -> Option<String> {
    if id.is_null() {
        return None;
    }
    // SAFETY: not NULL and alive.
    let (high, low) = unsafe {
        (
            sys::rd_kafka_Uuid_most_significant_bits(id),
            sys::rd_kafka_Uuid_least_significant_bits(id),
        )
    };
    if (high, low) == (0, 0) {
        return None; // a topic that is not there, or brokers that have no such numbers
    }
    // SAFETY: as above; librdkafka keeps the text with the number.
    Some(unsafe { text_of(sys::rd_kafka_Uuid_base64str(id)) })
}

/// # Safety
/// `partition` is alive.
unsafe fn partition(partition: *const sys::rd_kafka_TopicPartitionInfo_t) -> PartitionDescription {
    // SAFETY: the partition and its nodes are alive; what is taken is copied.
    unsafe {
        PartitionDescription {
            partition: sys::rd_kafka_TopicPartitionInfo_partition(partition),
            leader: node(sys::rd_kafka_TopicPartitionInfo_leader(partition)),
            replicas: nodes(listed(|n| {
                sys::rd_kafka_TopicPartitionInfo_replicas(partition, n)
            })),
            in_sync: nodes(listed(|n| {
                sys::rd_kafka_TopicPartitionInfo_isr(partition, n)
            })),
        }
    }
}

impl Ask for RecordsDelete {
    type Answer = RecordsDeleted;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to
            .options(Op::RD_KAFKA_ADMIN_OP_DELETERECORDS)?
            .operation_timeout(to)?;
        let mut list = PartitionList::new(self.partitions.len())?;
        for p in &self.partitions {
            list.add(&p.topic, p.partition)?.offset(p.before);
        }
        // SAFETY: the list is alive and copied.
        let records = made(
            unsafe { sys::rd_kafka_DeleteRecords_new(list.as_ptr()) },
            sys::rd_kafka_DeleteRecords_destroy,
        )?;
        to.hand_over(sys::rd_kafka_DeleteRecords, &[records], &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<RecordsDeleted> {
        let result = result_of(event, sys::rd_kafka_event_DeleteRecords_result)?;
        // SAFETY: the result and its list are alive with the event; the list is only read.
        let list = unsafe {
            PartitionList::borrow(sys::rd_kafka_DeleteRecords_result_offsets(result).cast_mut())
        }?;
        let partitions: Vec<_> = list
            .iter()
            .map(|p| DeletedBefore {
                topic: p.topic().to_owned(),
                partition: p.partition(),
                first_offset: (p.code() == 0).then(|| p.offset()),
                status: said(p.code()),
            })
            .collect();
        Some(RecordsDeleted {
            failed: failed(&partitions),
            partitions,
        })
    }
}

impl Ask for LeadersElect {
    type Answer = PartitionOutcomes;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to
            .options(Op::RD_KAFKA_ADMIN_OP_ELECTLEADERS)?
            .operation_timeout(to)?;
        let kind = match self.election {
            Election::Preferred => sys::rd_kafka_ElectionType_t::RD_KAFKA_ELECTION_TYPE_PREFERRED,
            Election::Unclean => sys::rd_kafka_ElectionType_t::RD_KAFKA_ELECTION_TYPE_UNCLEAN,
        };
        let list = self
            .partitions
            .as_ref()
            .map(|p| PartitionList::of(p))
            .transpose()?;
        let list = list.as_ref().map_or(std::ptr::null_mut(), |l| l.as_ptr());
        // SAFETY: the list is NULL (all partitions) or alive and copied.
        let elect = made(
            unsafe { sys::rd_kafka_ElectLeaders_new(kind, list) },
            sys::rd_kafka_ElectLeaders_destroy,
        )?;
        // SAFETY: all are alive; the arguments are copied.
        unsafe {
            sys::rd_kafka_ElectLeaders(
                to.rk(),
                elect.as_ptr(),
                options.as_ptr(),
                to.queue.as_ptr(),
            );
        }
        Ok(())
    }

    fn answer(event: &Event) -> Option<PartitionOutcomes> {
        let result = result_of(event, sys::rd_kafka_event_ElectLeaders_result)?;
        // SAFETY: the result and its elements are alive with the event; what is taken is copied.
        let partitions: Vec<_> = unsafe {
            listed(|n| sys::rd_kafka_ElectLeaders_result_partitions(result, n))
                .iter()
                .filter_map(|outcome| {
                    let partition = Element::from_raw(
                        sys::rd_kafka_topic_partition_result_partition(*outcome),
                    )?;
                    Some(PartitionOutcome {
                        topic: partition.topic().to_owned(),
                        partition: partition.partition(),
                        status: status(sys::rd_kafka_topic_partition_result_error(*outcome)),
                    })
                })
                .collect()
        };
        Some(PartitionOutcomes {
            failed: failed(&partitions),
            partitions,
        })
    }
}
