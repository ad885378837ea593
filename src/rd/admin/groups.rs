//! Consumer groups.

use super::{
    c_string, listed, made, node, operations, optional_text, result_of, status, sys, take_error,
    text_of, Ask, Asked, Names, Op, Options,
};
use crate::document::{
    failed, GroupDescription, GroupDescriptions, GroupListing, GroupListings, GroupMember,
    GroupOutcome, GroupOutcomes, GroupState, GroupType, GroupsDelete, GroupsDescribe, GroupsList,
    TopicPartition,
};
use crate::error::Error;
use crate::rd::partitions::PartitionList;
use crate::rd::queue::Event;

impl Ask for GroupsList {
    type Answer = GroupListings;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_LISTCONSUMERGROUPS)?;
        if let Some(states) = &self.states {
            match_states(&options, states)?;
        }
        if let Some(types) = &self.types {
            match_types(&options, types)?;
        }
        // SAFETY: all are alive.
        unsafe { sys::rd_kafka_ListConsumerGroups(to.rk(), options.as_ptr(), to.queue.as_ptr()) };
        Ok(())
    }

    fn answer(event: &Event) -> Option<GroupListings> {
        let result = result_of(event, sys::rd_kafka_event_ListConsumerGroups_result)?;
        // SAFETY: the result and its elements are alive with the event; texts are copied.
        let (groups, errors): (Vec<_>, Vec<_>) = unsafe {
            let valid = listed(|n| sys::rd_kafka_ListConsumerGroups_result_valid(result, n));
            let errors = listed(|n| sys::rd_kafka_ListConsumerGroups_result_errors(result, n));
            (
                valid.iter().map(|group| listing(*group)).collect(),
                errors.iter().map(|error| status(*error)).collect(),
            )
        };
        Some(GroupListings {
            groups,
            failed: errors.len(),
            errors,
        })
    }
}

fn match_states(options: &Options, states: &[GroupState]) -> Result<(), Error> {
    use sys::rd_kafka_consumer_group_state_t as State;
    let states: Vec<_> = states
        .iter()
        .map(|state| match state {
            GroupState::PreparingRebalance => {
                State::RD_KAFKA_CONSUMER_GROUP_STATE_PREPARING_REBALANCE
            }
            GroupState::CompletingRebalance => {
                State::RD_KAFKA_CONSUMER_GROUP_STATE_COMPLETING_REBALANCE
            }
            GroupState::Stable => State::RD_KAFKA_CONSUMER_GROUP_STATE_STABLE,
            GroupState::Dead => State::RD_KAFKA_CONSUMER_GROUP_STATE_DEAD,
            GroupState::Empty => State::RD_KAFKA_CONSUMER_GROUP_STATE_EMPTY,
        })
        .collect();
    // SAFETY: all are alive; the states are copied, the error object is ours.
    unsafe {
        let error = sys::rd_kafka_AdminOptions_set_match_consumer_group_states(
            options.as_ptr(),
            states.as_ptr(),
            states.len(),
        );
        take_error(error, "the states")
    }
}

fn match_types(options: &Options, types: &[GroupType]) -> Result<(), Error> {
    use sys::rd_kafka_consumer_group_type_t as Type;
    let types: Vec<_> = types
        .iter()
        .map(|kind| match kind {
            GroupType::Consumer => Type::RD_KAFKA_CONSUMER_GROUP_TYPE_CONSUMER,
            GroupType::Classic => Type::RD_KAFKA_CONSUMER_GROUP_TYPE_CLASSIC,
        })
        .collect();
    // SAFETY: all are alive; the types are copied, the error object is ours.
    unsafe {
        let error = sys::rd_kafka_AdminOptions_set_match_consumer_group_types(
            options.as_ptr(),
            types.as_ptr(),
            types.len(),
        );
        take_error(error, "the types")
    }
}

/// # Safety
/// `group` is alive.
unsafe fn listing(group: *const sys::rd_kafka_ConsumerGroupListing_t) -> GroupListing {
    // SAFETY: by the contract; the text is copied.
    unsafe {
        GroupListing {
            group: text_of(sys::rd_kafka_ConsumerGroupListing_group_id(group)),
            state: GroupState::word(sys::rd_kafka_ConsumerGroupListing_state(group)),
            kind: GroupType::word(sys::rd_kafka_ConsumerGroupListing_type(group)),
            simple: sys::rd_kafka_ConsumerGroupListing_is_simple_consumer_group(group) != 0,
        }
    }
}

impl Ask for GroupsDescribe {
    type Answer = GroupDescriptions;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to
            .options(Op::RD_KAFKA_ADMIN_OP_DESCRIBECONSUMERGROUPS)?
            .authorized_operations(self.authorized_operations)?;
        let mut names = Names::new(&self.groups, "the group's name")?;
        // SAFETY: all are alive; the names are copied.
        unsafe {
            sys::rd_kafka_DescribeConsumerGroups(
                to.rk(),
                names.as_mut_ptr(),
                names.len(),
                options.as_ptr(),
                to.queue.as_ptr(),
            );
        }
        Ok(())
    }

    fn answer(event: &Event) -> Option<GroupDescriptions> {
        let result = result_of(event, sys::rd_kafka_event_DescribeConsumerGroups_result)?;
        // SAFETY: the result and its elements are alive with the event.
        let groups: Vec<_> = unsafe {
            listed(|n| sys::rd_kafka_DescribeConsumerGroups_result_groups(result, n))
                .iter()
                .map(|group| description(*group))
                .collect()
        };
        Some(GroupDescriptions {
            failed: failed(&groups),
            groups,
        })
    }
}

/// # Safety
/// `group` is alive.
unsafe fn description(group: *const sys::rd_kafka_ConsumerGroupDescription_t) -> GroupDescription {
    // SAFETY: the group and all that it holds is alive; what is taken is copied.
    unsafe {
        let members = sys::rd_kafka_ConsumerGroupDescription_member_count(group);
        GroupDescription {
            group: text_of(sys::rd_kafka_ConsumerGroupDescription_group_id(group)),
            status: status(sys::rd_kafka_ConsumerGroupDescription_error(group)),
            state: GroupState::word(sys::rd_kafka_ConsumerGroupDescription_state(group)),
            kind: GroupType::word(sys::rd_kafka_ConsumerGroupDescription_type(group)),
            simple: sys::rd_kafka_ConsumerGroupDescription_is_simple_consumer_group(group) != 0,
            assignor: text_of(sys::rd_kafka_ConsumerGroupDescription_partition_assignor(
                group,
            )),
            coordinator: node(sys::rd_kafka_ConsumerGroupDescription_coordinator(group)),
            members: (0..members)
                .map(|i| member(sys::rd_kafka_ConsumerGroupDescription_member(group, i)))
                .collect(),
            authorized_operations: operations(|n| {
                sys::rd_kafka_ConsumerGroupDescription_authorized_operations(group, n)
            }),
        }
    }
}

/// # Safety
/// `member` is alive.
unsafe fn member(member: *const sys::rd_kafka_MemberDescription_t) -> GroupMember {
    // SAFETY: the member and its lists are alive; what is taken is copied.
    unsafe {
        GroupMember {
            member: text_of(sys::rd_kafka_MemberDescription_consumer_id(member)),
            client: text_of(sys::rd_kafka_MemberDescription_client_id(member)),
            instance: optional_text(sys::rd_kafka_MemberDescription_group_instance_id(member)),
            host: text_of(sys::rd_kafka_MemberDescription_host(member)),
            assignment: assignment(sys::rd_kafka_MemberDescription_assignment(member))
                .unwrap_or_default(),
            target_assignment: assignment(sys::rd_kafka_MemberDescription_target_assignment(
                member,
            )),
        }
    }
}

/// # Safety
/// `assignment` is NULL or alive.
unsafe fn assignment(
    assignment: *const sys::rd_kafka_MemberAssignment_t,
) -> Option<Vec<TopicPartition>> {
    if assignment.is_null() {
        return None;
    }
    // SAFETY: not NULL and alive; the list is only read.
    let list = unsafe {
        PartitionList::borrow(sys::rd_kafka_MemberAssignment_partitions(assignment).cast_mut())
    }?;
    let partitions = list.iter().map(|p| TopicPartition {
        topic: p.topic().to_owned(),
        partition: p.partition(),
    });
    Some(partitions.collect())
}

impl Ask for GroupsDelete {
    type Answer = GroupOutcomes;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_DELETEGROUPS)?;
        let groups = self
            .groups
            .iter()
            .map(|group| {
                let name = c_string(group, "the group's name")?;
                // SAFETY: the name is terminated and copied.
                let made_of = unsafe { sys::rd_kafka_DeleteGroup_new(name.as_ptr()) };
                made(made_of, sys::rd_kafka_DeleteGroup_destroy)
            })
            .collect::<Result<Vec<_>, _>>()?;
        to.hand_over(sys::rd_kafka_DeleteGroups, &groups, &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<GroupOutcomes> {
        let result = result_of(event, sys::rd_kafka_event_DeleteGroups_result)?;
        // SAFETY: the result and its elements are alive with the event; texts are copied.
        let groups: Vec<_> = unsafe {
            listed(|n| sys::rd_kafka_DeleteGroups_result_groups(result, n))
                .iter()
                .map(|group| GroupOutcome {
                    group: text_of(sys::rd_kafka_group_result_name(*group)),
                    status: status(sys::rd_kafka_group_result_error(*group)),
                })
                .collect()
        };
        Some(GroupOutcomes {
            failed: failed(&groups),
            groups,
        })
    }
}
