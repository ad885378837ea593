//! Access control lists.

use super::{
    c_string, listed, made_or_why, result_of, status, sys, text_of, Ask, Asked, Op, Owned,
};
use crate::document::{
    failed, Acl, AclDeleted, AclFilter, AclFilterOutcome, AclOperation, AclOutcome, AclOutcomes,
    AclPattern, AclPermission, AclResource, Acls, AclsCreate, AclsDelete, AclsDeleted,
    AclsDescribe, NewAcl,
};
use crate::error::Error;
use crate::rd::queue::Event;

/// A rule, or a filter of rules: librdkafka has one type for both.
type Binding = Owned<sys::rd_kafka_AclBinding_t>;

impl Ask for AclsCreate {
    type Answer = AclOutcomes;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_CREATEACLS)?;
        let acls = self
            .acls
            .iter()
            .map(new_acl)
            .collect::<Result<Vec<_>, _>>()?;
        to.hand_over(sys::rd_kafka_CreateAcls, &acls, &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<AclOutcomes> {
        let result = result_of(event, sys::rd_kafka_event_CreateAcls_result)?;
        // SAFETY: the result and its elements are alive with the event.
        let acls: Vec<_> = unsafe {
            listed(|n| sys::rd_kafka_CreateAcls_result_acls(result, n))
                .iter()
                .map(|acl| AclOutcome {
                    status: status(sys::rd_kafka_acl_result_error(*acl)),
                })
                .collect()
        };
        Some(AclOutcomes {
            failed: failed(&acls),
            acls,
        })
    }
}

fn new_acl(acl: &NewAcl) -> Result<Binding, Error> {
    let resource = c_string(&acl.resource, "the resource's name")?;
    let principal = c_string(&acl.principal, "the principal")?;
    let host = c_string(&acl.host, "the host")?;
    made_or_why(
        // SAFETY: all are terminated and copied; the buffer has the given size.
        |text, size| unsafe {
            sys::rd_kafka_AclBinding_new(
                resource_type(acl.resource_type),
                resource.as_ptr(),
                pattern(acl.pattern),
                principal.as_ptr(),
                host.as_ptr(),
                operation(acl.operation),
                permission(acl.permission),
                text,
                size,
            )
        },
        sys::rd_kafka_AclBinding_destroy,
    )
}

fn filter(filter: &AclFilter) -> Result<Binding, Error> {
    let optional =
        |text: &Option<String>, what| text.as_ref().map(|text| c_string(text, what)).transpose();
    let resource = optional(&filter.resource, "the resource's name")?;
    let principal = optional(&filter.principal, "the principal")?;
    let host = optional(&filter.host, "the host")?;
    let pointer = |text: &Option<std::ffi::CString>| {
        text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
    };
    made_or_why(
        // SAFETY: all are NULL (any) or terminated, and copied; the buffer has the given size.
        |text, size| unsafe {
            sys::rd_kafka_AclBindingFilter_new(
                resource_type(filter.resource_type.unwrap_or(AclResource::Any)),
                pointer(&resource),
                pattern(filter.pattern.unwrap_or(AclPattern::Any)),
                pointer(&principal),
                pointer(&host),
                operation(filter.operation.unwrap_or(AclOperation::Any)),
                permission(filter.permission.unwrap_or(AclPermission::Any)),
                text,
                size,
            )
        },
        sys::rd_kafka_AclBinding_destroy,
    )
}

fn resource_type(resource: AclResource) -> sys::rd_kafka_ResourceType_t {
    use sys::rd_kafka_ResourceType_t as Type;
    match resource {
        AclResource::Any => Type::RD_KAFKA_RESOURCE_ANY,
        AclResource::Topic => Type::RD_KAFKA_RESOURCE_TOPIC,
        AclResource::Group => Type::RD_KAFKA_RESOURCE_GROUP,
        // Where rules are concerned, Kafka's number of a broker stands for the cluster.
        AclResource::Cluster => Type::RD_KAFKA_RESOURCE_BROKER,
        AclResource::TransactionalId => Type::RD_KAFKA_RESOURCE_TRANSACTIONAL_ID,
    }
}

fn pattern(pattern: AclPattern) -> sys::rd_kafka_ResourcePatternType_t {
    use sys::rd_kafka_ResourcePatternType_t as Type;
    match pattern {
        AclPattern::Any => Type::RD_KAFKA_RESOURCE_PATTERN_ANY,
        AclPattern::Match => Type::RD_KAFKA_RESOURCE_PATTERN_MATCH,
        AclPattern::Literal => Type::RD_KAFKA_RESOURCE_PATTERN_LITERAL,
        AclPattern::Prefixed => Type::RD_KAFKA_RESOURCE_PATTERN_PREFIXED,
    }
}

fn operation(operation: AclOperation) -> sys::rd_kafka_AclOperation_t {
    use sys::rd_kafka_AclOperation_t as Type;
    match operation {
        AclOperation::Any => Type::RD_KAFKA_ACL_OPERATION_ANY,
        AclOperation::All => Type::RD_KAFKA_ACL_OPERATION_ALL,
        AclOperation::Read => Type::RD_KAFKA_ACL_OPERATION_READ,
        AclOperation::Write => Type::RD_KAFKA_ACL_OPERATION_WRITE,
        AclOperation::Create => Type::RD_KAFKA_ACL_OPERATION_CREATE,
        AclOperation::Delete => Type::RD_KAFKA_ACL_OPERATION_DELETE,
        AclOperation::Alter => Type::RD_KAFKA_ACL_OPERATION_ALTER,
        AclOperation::Describe => Type::RD_KAFKA_ACL_OPERATION_DESCRIBE,
        AclOperation::ClusterAction => Type::RD_KAFKA_ACL_OPERATION_CLUSTER_ACTION,
        AclOperation::DescribeConfigs => Type::RD_KAFKA_ACL_OPERATION_DESCRIBE_CONFIGS,
        AclOperation::AlterConfigs => Type::RD_KAFKA_ACL_OPERATION_ALTER_CONFIGS,
        AclOperation::IdempotentWrite => Type::RD_KAFKA_ACL_OPERATION_IDEMPOTENT_WRITE,
    }
}

fn permission(permission: AclPermission) -> sys::rd_kafka_AclPermissionType_t {
    use sys::rd_kafka_AclPermissionType_t as Type;
    match permission {
        AclPermission::Any => Type::RD_KAFKA_ACL_PERMISSION_TYPE_ANY,
        AclPermission::Deny => Type::RD_KAFKA_ACL_PERMISSION_TYPE_DENY,
        AclPermission::Allow => Type::RD_KAFKA_ACL_PERMISSION_TYPE_ALLOW,
    }
}

/// # Safety
/// `acl` is alive.
unsafe fn rule(acl: *const sys::rd_kafka_AclBinding_t) -> Acl {
    // SAFETY: by the contract; texts are copied.
    unsafe {
        Acl {
            resource_type: AclResource::word(sys::rd_kafka_AclBinding_restype(acl)),
            resource: text_of(sys::rd_kafka_AclBinding_name(acl)),
            pattern: AclPattern::word(sys::rd_kafka_AclBinding_resource_pattern_type(acl)),
            principal: text_of(sys::rd_kafka_AclBinding_principal(acl)),
            host: text_of(sys::rd_kafka_AclBinding_host(acl)),
            operation: AclOperation::word(sys::rd_kafka_AclBinding_operation(acl)),
            permission: AclPermission::word(sys::rd_kafka_AclBinding_permission_type(acl)),
        }
    }
}

impl Ask for AclsDescribe {
    type Answer = Acls;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_DESCRIBEACLS)?;
        let filter = filter(&self.filter)?;
        // SAFETY: all are alive; the filter is copied.
        unsafe {
            sys::rd_kafka_DescribeAcls(
                to.rk(),
                filter.as_ptr(),
                options.as_ptr(),
                to.queue.as_ptr(),
            );
        }
        Ok(())
    }

    fn answer(event: &Event) -> Option<Acls> {
        let result = result_of(event, sys::rd_kafka_event_DescribeAcls_result)?;
        // SAFETY: the result and its elements are alive with the event.
        let acls = unsafe {
            listed(|n| sys::rd_kafka_DescribeAcls_result_acls(result, n))
                .iter()
                .map(|acl| rule(*acl))
                .collect()
        };
        Some(Acls { acls })
    }
}

impl Ask for AclsDelete {
    type Answer = AclsDeleted;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_DELETEACLS)?;
        let filters = self
            .filters
            .iter()
            .map(filter)
            .collect::<Result<Vec<_>, _>>()?;
        to.hand_over(sys::rd_kafka_DeleteAcls, &filters, &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<AclsDeleted> {
        let result = result_of(event, sys::rd_kafka_event_DeleteAcls_result)?;
        // SAFETY: the result and its elements are alive with the event.
        let filters: Vec<_> = unsafe {
            listed(|n| sys::rd_kafka_DeleteAcls_result_responses(result, n))
                .iter()
                .map(|response| deleted(*response))
                .collect()
        };
        Some(AclsDeleted {
            failed: failed(&filters),
            filters,
        })
    }
}

/// # Safety
/// `response` is alive.
unsafe fn deleted(response: *const sys::rd_kafka_DeleteAcls_result_response_t) -> AclFilterOutcome {
    // SAFETY: the response and its rules are alive.
    unsafe {
        let acls = listed(|n| sys::rd_kafka_DeleteAcls_result_response_matching_acls(response, n));
        AclFilterOutcome {
            status: status(sys::rd_kafka_DeleteAcls_result_response_error(response)),
            acls: acls
                .iter()
                .map(|acl| AclDeleted {
                    acl: rule(*acl),
                    status: status(sys::rd_kafka_AclBinding_error(*acl)),
                })
                .collect(),
        }
    }
}
