//! api/kafkabi.json: the whole interface for programs, with every offset and every doc line.

use crate::model::{Argument, Callback, Constant, Field, Function, Model, Record, Scalar, Type};
use serde::Serialize;

#[derive(Serialize)]
struct Document<'a> {
    generated: String,
    abi_version: AbiVersion,
    types: Vec<NamedType<'a>>,
    handles: Vec<HandleType<'a>>,
    /// By name: kabi_abi_check takes the sizes in this order.
    records: Vec<RecordType<'a>>,
    callbacks: Vec<CallbackType<'a>>,
    constants: Vec<ConstantValue<'a>>,
    functions: Vec<FunctionEntry<'a>>,
}

#[derive(Serialize)]
struct AbiVersion {
    major: u32,
    minor: u32,
    value: u32,
}

#[derive(Serialize)]
struct NamedType<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    ty: &'static str,
    doc: &'a str,
}

#[derive(Serialize)]
struct HandleType<'a> {
    name: &'a str,
    doc: &'a str,
}

#[derive(Serialize)]
struct RecordType<'a> {
    name: &'a str,
    size: usize,
    alignment: usize,
    doc: &'a str,
    fields: Vec<FieldEntry<'a>>,
}

#[derive(Serialize)]
struct FieldEntry<'a> {
    name: &'a str,
    #[serde(flatten)]
    ty: TypeEntry,
    #[serde(skip_serializing_if = "Option::is_none")]
    array_length: Option<usize>,
    offset: usize,
    size: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    nullable: Option<bool>,
    doc: &'a str,
}

/// A type as C spells it, and taken apart. `const` is about what the base type's memory holds.
#[derive(Serialize)]
struct TypeEntry {
    #[serde(rename = "type")]
    c_name: String,
    base: String,
    kind: &'static str,
    pointer_depth: usize,
    #[serde(rename = "const")]
    is_const: bool,
}

#[derive(Serialize)]
struct ArgumentEntry<'a> {
    name: &'a str,
    #[serde(flatten)]
    ty: TypeEntry,
    direction: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    nullable: Option<bool>,
}

#[derive(Serialize)]
struct ReturnEntry {
    #[serde(flatten)]
    ty: TypeEntry,
    #[serde(skip_serializing_if = "Option::is_none")]
    nullable: Option<bool>,
}

#[derive(Serialize)]
struct CallbackType<'a> {
    name: &'a str,
    doc: &'a str,
    arguments: Vec<ArgumentEntry<'a>>,
    returns: ReturnEntry,
}

#[derive(Serialize)]
struct ConstantValue<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    ty: &'static str,
    value: i128,
    doc: &'a str,
}

#[derive(Serialize)]
struct FunctionEntry<'a> {
    name: &'a str,
    since: &'a str,
    doc: &'a str,
    arguments: Vec<ArgumentEntry<'a>>,
    returns: ReturnEntry,
}

pub fn emit(model: &Model) -> String {
    let document = document(model);
    // Numbers, strings and structs only: there is nothing that could fail to be written.
    let text = serde_json::to_string_pretty(&document).unwrap_or_default();
    // JSON has no comments, so the note goes onto the first line as a member.
    text.replacen("{\n  ", "{ ", 1) + "\n"
}

fn document(model: &Model) -> Document<'_> {
    let mut records: Vec<&Record> = model.records.iter().collect();
    records.sort_by(|a, b| a.name.cmp(&b.name));
    Document {
        generated: format!("by {}: do not edit", crate::COMMAND),
        abi_version: AbiVersion {
            major: model.abi_version >> 16,
            minor: model.abi_version & 0xffff,
            value: model.abi_version,
        },
        types: model
            .aliases
            .iter()
            .map(|alias| NamedType {
                name: &alias.name,
                ty: alias.ty.c_name(),
                doc: &alias.doc,
            })
            .collect(),
        handles: model
            .handles
            .iter()
            .map(|handle| HandleType {
                name: &handle.name,
                doc: &handle.doc,
            })
            .collect(),
        records: records.into_iter().map(record).collect(),
        callbacks: model.callbacks.iter().map(callback).collect(),
        constants: model.constants.iter().map(constant).collect(),
        functions: model.functions.iter().map(function).collect(),
    }
}

fn record(record: &Record) -> RecordType<'_> {
    RecordType {
        name: &record.name,
        size: record.size,
        alignment: record.alignment,
        doc: &record.doc,
        fields: record.fields.iter().map(field).collect(),
    }
}

fn field(field: &Field) -> FieldEntry<'_> {
    let array_length = match field.ty {
        Type::Array { length, .. } => Some(length),
        _ => None,
    };
    FieldEntry {
        name: &field.name,
        ty: type_entry(&field.ty),
        array_length,
        offset: field.offset,
        size: field.size,
        nullable: field.ty.can_be_null().then_some(field.nullable),
        doc: &field.doc,
    }
}

fn type_entry(ty: &Type) -> TypeEntry {
    let base = ty.base();
    TypeEntry {
        c_name: ty.c_name(),
        base: base.c_name(),
        kind: match base {
            Type::Void => "void",
            Type::Scalar(Scalar::Char)
            | Type::Array {
                of: Scalar::Char, ..
            } => "char",
            Type::Scalar(_) | Type::Array { .. } => "integer",
            Type::Alias(_) => "alias",
            Type::Handle(_) => "handle",
            Type::Record(_) => "record",
            Type::Callback(_) => "callback",
            Type::Pointer { .. } => "pointer",
        },
        pointer_depth: ty.pointer_depth(),
        is_const: base_is_const(ty),
    }
}

fn base_is_const(ty: &Type) -> bool {
    match ty {
        Type::Pointer { to, .. } if to.pointer_depth() > 0 => base_is_const(to),
        Type::Pointer { is_const, .. } => *is_const,
        _ => false,
    }
}

fn argument(argument: &Argument) -> ArgumentEntry<'_> {
    ArgumentEntry {
        name: &argument.name,
        ty: type_entry(&argument.ty),
        direction: argument.direction.name(),
        nullable: argument.ty.can_be_null().then_some(argument.nullable),
    }
}

fn constant(constant: &Constant) -> ConstantValue<'_> {
    ConstantValue {
        name: &constant.name,
        ty: constant.ty.c_name(),
        value: constant.value,
        doc: &constant.doc,
    }
}

fn callback(callback: &Callback) -> CallbackType<'_> {
    CallbackType {
        name: &callback.name,
        doc: &callback.doc,
        arguments: callback.arguments.iter().map(argument).collect(),
        returns: ReturnEntry {
            ty: type_entry(&callback.returns),
            nullable: None,
        },
    }
}

fn function(function: &Function) -> FunctionEntry<'_> {
    FunctionEntry {
        name: &function.name,
        since: &function.since,
        doc: &function.doc,
        arguments: function.arguments.iter().map(argument).collect(),
        returns: ReturnEntry {
            ty: type_entry(&function.returns),
            nullable: function
                .returns
                .can_be_null()
                .then_some(function.returns_nullable),
        },
    }
}
