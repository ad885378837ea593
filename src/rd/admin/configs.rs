//! Configurations of topics, brokers and groups.

use super::{
    c_string, listed, made, optional_text, refused, result_of, sys, take_error, text_of,
    value_string, Ask, Asked, Op, Owned,
};
use crate::document::{
    failed, ConfigDescription, ConfigDescriptions, ConfigOperation, ConfigOutcome, ConfigOutcomes,
    ConfigOwner, ConfigProperty, ConfigSource, ConfigSynonym, ConfigsAlter,
    ConfigsAlterIncremental, ConfigsDescribe, Status,
};
use crate::error::Error;
use crate::rd::queue::Event;
use std::ffi::CString;

type Resource = Owned<sys::rd_kafka_ConfigResource_t>;

fn resource(kind: ConfigOwner, name: &str) -> Result<Resource, Error> {
    use sys::rd_kafka_ResourceType_t as Type;
    let kind = match kind {
        ConfigOwner::Topic => Type::RD_KAFKA_RESOURCE_TOPIC,
        ConfigOwner::Group => Type::RD_KAFKA_RESOURCE_GROUP,
        ConfigOwner::Broker => Type::RD_KAFKA_RESOURCE_BROKER,
    };
    let name = c_string(name, "the resource's name")?;
    // SAFETY: the name is terminated and copied.
    made(
        unsafe { sys::rd_kafka_ConfigResource_new(kind, name.as_ptr()) },
        sys::rd_kafka_ConfigResource_destroy,
    )
}

fn set_config(resource: &Resource, name: &str, value: &str) -> Result<(), Error> {
    let (c_name, c_value) = (property(name)?, value_string(value)?);
    // SAFETY: all are alive and terminated; texts are copied.
    let code = unsafe {
        sys::rd_kafka_ConfigResource_set_config(
            resource.as_ptr(),
            c_name.as_ptr(),
            c_value.as_ptr(),
        )
    };
    refused(code, "the property", name)
}

fn property(name: &str) -> Result<CString, Error> {
    c_string(name, "a property's name")
}

impl Ask for ConfigsDescribe {
    type Answer = ConfigDescriptions;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to.options(Op::RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS)?;
        let mut resources = Vec::with_capacity(self.resources.len());
        for asked in &self.resources {
            let resource = resource(asked.kind, &asked.name)?;
            for name in asked.properties.iter().flatten() {
                set_config(&resource, name, "")?;
            }
            resources.push(resource);
        }
        to.hand_over(sys::rd_kafka_DescribeConfigs, &resources, &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<ConfigDescriptions> {
        let result = result_of(event, sys::rd_kafka_event_DescribeConfigs_result)?;
        // SAFETY: the result and its elements are alive with the event.
        let resources: Vec<_> = unsafe {
            listed(|n| sys::rd_kafka_DescribeConfigs_result_resources(result, n))
                .iter()
                .map(|resource| description(*resource))
                .collect()
        };
        Some(ConfigDescriptions {
            failed: failed(&resources),
            resources,
        })
    }
}

/// # Safety
/// `resource` is alive.
unsafe fn description(resource: *const sys::rd_kafka_ConfigResource_t) -> ConfigDescription {
    // SAFETY: the resource and its entries are alive.
    unsafe {
        let outcome = outcome(resource);
        let entries = listed(|n| sys::rd_kafka_ConfigResource_configs(resource, n));
        let mut properties: Vec<_> = entries.iter().map(|entry| described(*entry)).collect();
        properties.sort_by(|a, b| a.name.cmp(&b.name));
        ConfigDescription {
            kind: outcome.kind,
            name: outcome.name,
            status: outcome.status,
            properties,
        }
    }
}

/// # Safety
/// `entry` is alive.
unsafe fn described(entry: *const sys::rd_kafka_ConfigEntry_t) -> ConfigProperty {
    // SAFETY: the entry and its synonyms are alive; texts are copied.
    unsafe {
        let synonyms = listed(|n| sys::rd_kafka_ConfigEntry_synonyms(entry, n));
        ConfigProperty {
            name: text_of(sys::rd_kafka_ConfigEntry_name(entry)),
            value: optional_text(sys::rd_kafka_ConfigEntry_value(entry)),
            source: source(entry),
            default: sys::rd_kafka_ConfigEntry_is_default(entry) == 1,
            read_only: sys::rd_kafka_ConfigEntry_is_read_only(entry) == 1,
            sensitive: sys::rd_kafka_ConfigEntry_is_sensitive(entry) == 1,
            synonyms: synonyms
                .iter()
                .map(|synonym| ConfigSynonym {
                    name: text_of(sys::rd_kafka_ConfigEntry_name(*synonym)),
                    value: optional_text(sys::rd_kafka_ConfigEntry_value(*synonym)),
                    source: source(*synonym),
                })
                .collect(),
        }
    }
}

/// # Safety
/// `entry` is alive.
unsafe fn source(entry: *const sys::rd_kafka_ConfigEntry_t) -> String {
    // SAFETY: by the contract.
    ConfigSource::word(unsafe { sys::rd_kafka_ConfigEntry_source(entry) })
}

/// # Safety
/// `resource` is alive.
unsafe fn outcome(resource: *const sys::rd_kafka_ConfigResource_t) -> ConfigOutcome {
    // SAFETY: by the contract; texts are copied.
    unsafe {
        ConfigOutcome {
            kind: ConfigOwner::word(sys::rd_kafka_ConfigResource_type(resource)),
            name: text_of(sys::rd_kafka_ConfigResource_name(resource)),
            status: Status::new(
                sys::rd_kafka_ConfigResource_error(resource),
                text_of(sys::rd_kafka_ConfigResource_error_string(resource)),
            ),
        }
    }
}

fn outcomes(resources: &[*const sys::rd_kafka_ConfigResource_t]) -> ConfigOutcomes {
    // SAFETY: the elements are alive with the event.
    let resources: Vec<_> = resources.iter().map(|r| unsafe { outcome(*r) }).collect();
    ConfigOutcomes {
        failed: failed(&resources),
        resources,
    }
}

impl Ask for ConfigsAlterIncremental {
    type Answer = ConfigOutcomes;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to
            .options(Op::RD_KAFKA_ADMIN_OP_INCREMENTALALTERCONFIGS)?
            .validate_only(self.validate_only)?;
        let mut resources = Vec::with_capacity(self.resources.len());
        for asked in &self.resources {
            let resource = resource(asked.kind, &asked.name)?;
            for change in &asked.changes {
                add_change(
                    &resource,
                    &change.name,
                    change.operation,
                    change.value.as_deref(),
                )?;
            }
            resources.push(resource);
        }
        to.hand_over(sys::rd_kafka_IncrementalAlterConfigs, &resources, &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<ConfigOutcomes> {
        let result = result_of(event, sys::rd_kafka_event_IncrementalAlterConfigs_result)?;
        // SAFETY: the result is alive with the event.
        Some(outcomes(unsafe {
            listed(|n| sys::rd_kafka_IncrementalAlterConfigs_result_resources(result, n))
        }))
    }
}

fn add_change(
    resource: &Resource,
    name: &str,
    operation: ConfigOperation,
    value: Option<&str>,
) -> Result<(), Error> {
    use sys::rd_kafka_AlterConfigOpType_t as Type;
    let kind = match operation {
        ConfigOperation::Set => Type::RD_KAFKA_ALTER_CONFIG_OP_TYPE_SET,
        ConfigOperation::Delete => Type::RD_KAFKA_ALTER_CONFIG_OP_TYPE_DELETE,
        ConfigOperation::Append => Type::RD_KAFKA_ALTER_CONFIG_OP_TYPE_APPEND,
        ConfigOperation::Subtract => Type::RD_KAFKA_ALTER_CONFIG_OP_TYPE_SUBTRACT,
    };
    let c_name = property(name)?;
    let value = value.map(value_string).transpose()?;
    let value = value.as_ref().map_or(std::ptr::null(), |v| v.as_ptr());
    // SAFETY: all are alive and terminated; texts are copied, the error object is ours.
    unsafe {
        let error = sys::rd_kafka_ConfigResource_add_incremental_config(
            resource.as_ptr(),
            c_name.as_ptr(),
            kind,
            value,
        );
        take_error(error, &format!("the property {name:?}"))
    }
}

impl Ask for ConfigsAlter {
    type Answer = ConfigOutcomes;

    fn ask(&self, to: &Asked<'_>) -> Result<(), Error> {
        let options = to
            .options(Op::RD_KAFKA_ADMIN_OP_ALTERCONFIGS)?
            .validate_only(self.validate_only)?;
        let mut resources = Vec::with_capacity(self.resources.len());
        for asked in &self.resources {
            let resource = resource(asked.kind, &asked.name)?;
            for (name, value) in &asked.configs {
                set_config(&resource, name, value)?;
            }
            resources.push(resource);
        }
        to.hand_over(sys::rd_kafka_AlterConfigs, &resources, &options);
        Ok(())
    }

    fn answer(event: &Event) -> Option<ConfigOutcomes> {
        let result = result_of(event, sys::rd_kafka_event_AlterConfigs_result)?;
        // SAFETY: the result is alive with the event.
        Some(outcomes(unsafe {
            listed(|n| sys::rd_kafka_AlterConfigs_result_resources(result, n))
        }))
    }
}
