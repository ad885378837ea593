//! Keeps api/admin.schema.json: the shape of every document, from the types themselves and their comments.
//! `KAFKABI_WRITE=1 cargo test --release --lib admin_schema` writes it; without, a stale file fails.

use super as d;
use crate::client::admin::OPERATIONS;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, SchemaGenerator};
use serde_json::{json, Map, Value};
use std::path::Path;

const PATH: &str = "api/admin.schema.json";

/// Both halves of the document: what is read and what is written have rules of their own, for instance
/// about what may be left out.
struct Schemas {
    arguments: SchemaGenerator,
    results: SchemaGenerator,
    operations: Map<String, Value>,
}

impl Schemas {
    fn add<A: JsonSchema, R: JsonSchema>(&mut self, name: &str) {
        let arguments = self.arguments.subschema_for::<A>();
        let result = self.results.subschema_for::<R>();
        let entry = json!({ "arguments": arguments, "result": result });
        self.operations.insert(name.to_owned(), entry);
    }
}

fn schema() -> String {
    let settings = |path: &str| {
        let mut settings = SchemaSettings::draft2020_12();
        settings.definitions_path = path.to_owned().into();
        settings
    };
    let mut s = Schemas {
        arguments: settings("/arguments").into_generator(),
        results: settings("/results").for_serialize().into_generator(),
        operations: Map::new(),
    };
    s.add::<d::TopicsCreate, d::TopicOutcomes>("topics_create");
    s.add::<d::TopicsDelete, d::TopicOutcomes>("topics_delete");
    s.add::<d::TopicsDescribe, d::TopicDescriptions>("topics_describe");
    s.add::<d::PartitionsCreate, d::TopicOutcomes>("partitions_create");
    s.add::<d::RecordsDelete, d::RecordsDeleted>("records_delete");
    s.add::<d::LeadersElect, d::PartitionOutcomes>("leaders_elect");
    s.add::<d::ConfigsDescribe, d::ConfigDescriptions>("configs_describe");
    s.add::<d::ConfigsAlter, d::ConfigOutcomes>("configs_alter");
    s.add::<d::ConfigsAlterIncremental, d::ConfigOutcomes>("configs_alter_incremental");
    s.add::<d::ClusterDescribe, d::ClusterDescription>("cluster_describe");
    s.add::<d::MetadataAsk, d::Metadata>("metadata");
    s.add::<d::GroupsList, d::GroupListings>("groups_list");
    s.add::<d::GroupsDescribe, d::GroupDescriptions>("groups_describe");
    s.add::<d::GroupsDelete, d::GroupOutcomes>("groups_delete");
    s.add::<d::GroupOffsetsList, d::GroupOffsets>("group_offsets_list");
    s.add::<d::GroupOffsetsAlter, d::GroupOffsets>("group_offsets_alter");
    s.add::<d::GroupOffsetsDelete, d::GroupOffsets>("group_offsets_delete");
    s.add::<d::OffsetsList, d::OffsetListings>("offsets_list");
    s.add::<d::AclsCreate, d::AclOutcomes>("acls_create");
    s.add::<d::AclsDescribe, d::Acls>("acls_describe");
    s.add::<d::AclsDelete, d::AclsDeleted>("acls_delete");
    s.add::<d::ScramUsersDescribe, d::ScramUsers>("scram_users_describe");
    s.add::<d::ScramUsersAlter, d::ScramOutcomes>("scram_users_alter");
    let failure = s.results.subschema_for::<d::Failure>();
    let document = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "kafkabi's administration",
        "description": "For each operation of kabi_admin_call() and kabi_admin_start() the document that it \
            takes and the one that it gives; \"failure\" is what an event of a request that failed as a \
            whole has. Generated from src/document; don't edit.",
        "operations": s.operations,
        "failure": failure,
        "arguments": s.arguments.take_definitions(true),
        "results": s.results.take_definitions(true),
    });
    let mut text = serde_json::to_string_pretty(&document).expect("a JSON document");
    text.push('\n');
    text
}

#[test]
fn admin_schema_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(PATH);
    let wanted = schema();
    if std::env::var_os("KAFKABI_WRITE").is_some() {
        std::fs::write(&path, &wanted).expect("write the schema");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == wanted,
        "stale: {PATH}; run KAFKABI_WRITE=1 cargo test --release --lib admin_schema"
    );
}

#[test]
fn admin_schema_has_every_operation() {
    let document: Value = serde_json::from_str(&schema()).expect("JSON");
    let described = document["operations"].as_object().expect("an object");
    for operation in OPERATIONS {
        assert!(described.contains_key(operation.name), "{}", operation.name);
    }
    assert_eq!(described.len(), OPERATIONS.len());
}

/// Every field and every type has a text, for the schema is documentation.
#[test]
fn admin_schema_describes_everything() {
    fn visit(value: &Value, path: &str, missing: &mut Vec<String>) {
        let Some(object) = value.as_object() else {
            return;
        };
        if let Some(fields) = object.get("properties").and_then(Value::as_object) {
            for (name, field) in fields {
                if field.get("description").is_none() {
                    missing.push(format!("{path}.{name}"));
                }
            }
        }
    }
    let document: Value = serde_json::from_str(&schema()).expect("JSON");
    let mut missing = Vec::new();
    for half in ["arguments", "results"] {
        for (name, definition) in document[half].as_object().expect("definitions") {
            visit(definition, name, &mut missing);
        }
    }
    assert!(missing.is_empty(), "without a text: {missing:?}");
}
