//! Turns cbindgen's IR into the model and refuses what may not cross the boundary.
//!
//! All problems of a run are collected, each with the file and the item it belongs to.

use crate::constant;
use crate::doc::Doc;
use crate::layout;
use crate::model::{
    Alias, Argument, Callback, Constant, Direction, Field, Function, Handle, Model, Record, Type,
};
use crate::source::Unit;
use crate::types::{scalar, Types};
use cbindgen::bindgen::ir::{self, ItemContainer};
use std::collections::HashMap;

/// Exports with this prefix exist only in test builds and are left out of everything generated.
pub const TEST_PREFIX: &str = "kabi_test_";

/// The model of all units, or every problem found.
pub fn model(units: &[Unit]) -> Result<Model, Vec<String>> {
    let mut resolver = Resolver::default();
    for unit in units {
        resolver.constants(unit);
    }
    for unit in units {
        resolver.names(unit);
    }
    for unit in units {
        resolver.items(unit);
    }
    for unit in units {
        resolver.functions(unit);
    }
    resolver.finish()
}

#[derive(Default)]
struct Resolver {
    types: Types,
    values: HashMap<String, i128>,
    constants: Vec<Constant>,
    aliases: Vec<Alias>,
    handles: Vec<Handle>,
    records: Vec<Record>,
    callbacks: Vec<Callback>,
    functions: Vec<Function>,
    problems: Vec<String>,
}

impl Resolver {
    fn finish(mut self) -> Result<Model, Vec<String>> {
        let abi_version = self
            .values
            .get("KABI_ABI_VERSION")
            .copied()
            .unwrap_or_default();
        let abi_version = u32::try_from(abi_version).unwrap_or_default();
        if abi_version == 0 {
            self.problems.push("KABI_ABI_VERSION is missing".to_owned());
        }
        self.check_since(abi_version);
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        Ok(Model {
            abi_version,
            constants: self.constants,
            aliases: self.aliases,
            handles: self.handles,
            records: self.records,
            callbacks: self.callbacks,
            functions: self.functions,
        })
    }

    /// A function can't be newer than the ABI that has it.
    fn check_since(&mut self, abi_version: u32) {
        let (major, minor) = (abi_version >> 16, abi_version & 0xffff);
        for function in &self.functions {
            let number = function.since.split_once('.').and_then(|(major, minor)| {
                Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?))
            });
            if number.is_none_or(|number| number.0 != major || number.1 > minor) {
                self.problems.push(format!(
                    "{}: @since {} is not a version up to {major}.{minor}",
                    function.name, function.since
                ));
            }
        }
    }

    /// Keeps the value, or notes the problem of an item.
    fn keep<T>(&mut self, unit: &Unit, item: &str, result: Result<T, String>) -> Option<T> {
        result
            .map_err(|problem| {
                self.problems
                    .push(format!("{}: {item}: {problem}", unit.name))
            })
            .ok()
    }

    fn constants(&mut self, unit: &Unit) {
        for constant in &unit.bindings.constants {
            let resolved = self.constant(constant);
            if let Some(constant) = self.keep(unit, &constant.export_name, resolved) {
                self.values.insert(constant.name.clone(), constant.value);
                self.constants.push(constant);
            }
        }
    }

    fn constant(&self, constant: &ir::Constant) -> Result<Constant, String> {
        if constant.cfg.is_some() {
            return Err("is conditional".to_owned());
        }
        let ty = scalar(&constant.ty)?;
        let value = constant::evaluate(&constant.value, ty, &self.values)?;
        Ok(Constant {
            name: constant.export_name.clone(),
            ty,
            value: value.number,
            c_value: value.c_source,
            doc: Doc::parse(&constant.documentation)?.text(),
        })
    }

    /// Notes what each name stands for, so that items may be used before their declaration.
    fn names(&mut self, unit: &Unit) {
        self.types.set_constants(&self.values);
        for item in &unit.bindings.items {
            let name = item.deref().export_name().to_owned();
            let resolved = self.types.declare(item);
            self.keep(unit, &name, resolved);
        }
    }

    fn items(&mut self, unit: &Unit) {
        for item in &unit.bindings.items {
            let name = item.deref().export_name().to_owned();
            let resolved = self.item(unit, item, &name);
            self.keep(unit, &name, resolved);
        }
    }

    fn item(&mut self, unit: &Unit, item: &ItemContainer, name: &str) -> Result<(), String> {
        let Some(ty) = self.types.get(name) else {
            return Ok(());
        };
        let doc = Doc::parse(item.deref().documentation())?;
        match (item, ty) {
            (ItemContainer::Struct(_), Type::Handle(name)) => {
                self.handles.push(Handle {
                    name,
                    doc: doc.text(),
                });
            }
            (ItemContainer::Struct(record), Type::Record(name)) => {
                let record = self.record(record, name, &doc)?;
                layout::compare(&record, &unit.text)?;
                self.records.push(record);
            }
            (ItemContainer::Typedef(alias), Type::Alias(name)) => {
                self.aliases.push(Alias {
                    name,
                    ty: scalar(&alias.aliased)?,
                    doc: doc.text(),
                });
            }
            (ItemContainer::Typedef(alias), Type::Callback(name)) => {
                let callback = self.callback(&alias.aliased, name, &doc)?;
                self.callbacks.push(callback);
            }
            _ => {}
        }
        Ok(())
    }

    fn record(&self, record: &ir::Struct, name: String, doc: &Doc) -> Result<Record, String> {
        if record.alignment.is_some() || record.is_transparent || record.cfg.is_some() {
            return Err("must be plain #[repr(C)] and not conditional".to_owned());
        }
        let mut fields = Vec::new();
        let mut alignments = Vec::new();
        for field in &record.fields {
            let (field, alignment) = self
                .field(field)
                .map_err(|problem| format!("{}: {problem}", field.name))?;
            fields.push(field);
            alignments.push(alignment);
        }
        let (size, alignment) = layout::place(&mut fields, &alignments);
        let record = Record {
            name,
            size,
            alignment,
            fields,
            doc: doc.text(),
        };
        if layout::has_holes(&record) {
            return Err("has padding between its fields; spell it out as a reserved field".into());
        }
        Ok(record)
    }

    fn field(&self, field: &ir::Field) -> Result<(Field, usize), String> {
        let doc = Doc::parse(&field.documentation)?;
        let ty = self.types.resolve(&field.ty)?;
        let (size, alignment) =
            layout::size_and_alignment(&ty, &|name| self.types.alias_size(name))
                .ok_or("may not be a field by value")?;
        let nullable = !doc.nullable.is_empty();
        if nullable && !(ty.can_be_null() && doc.nullable == [""]) {
            return Err("a field's @nullable takes no names and needs a pointer".to_owned());
        }
        let field = Field {
            name: field.name.clone(),
            ty,
            offset: 0,
            size,
            nullable,
            doc: doc.text(),
        };
        Ok((field, alignment))
    }

    fn callback(&self, ty: &ir::Type, name: String, doc: &Doc) -> Result<Callback, String> {
        let ir::Type::FuncPtr {
            ret,
            args,
            is_nullable: true,
            never_return: false,
        } = ty
        else {
            return Err("must be an Option of an extern \"C\" fn that returns".to_owned());
        };
        let returns = self.types.crossing(ret)?;
        if returns.can_be_null() {
            return Err("may not return a pointer".to_owned());
        }
        let mut arguments = Vec::new();
        for (name, ty) in args {
            arguments.push(self.argument(name.as_deref(), ty, doc)?);
        }
        check_tags(doc, &arguments, &returns)?;
        Ok(Callback {
            name,
            arguments,
            returns,
            doc: doc.text(),
        })
    }

    fn functions(&mut self, unit: &Unit) {
        for function in &unit.bindings.functions {
            let name = function.path.name().to_owned();
            if name.starts_with(TEST_PREFIX) {
                continue;
            }
            let resolved = self.function(function, name.clone());
            if let Some(function) = self.keep(unit, &name, resolved) {
                self.functions.push(function);
            }
        }
    }

    fn function(&self, function: &ir::Function, name: String) -> Result<Function, String> {
        if !name.starts_with("kabi_") || function.cfg.is_some() || function.never_return {
            return Err("must be named kabi_*, return, and not be conditional".to_owned());
        }
        if self.functions.iter().any(|other| other.name == name) {
            return Err("is exported twice".to_owned());
        }
        let doc = Doc::parse(&function.documentation)?;
        let returns = self.types.crossing(&function.ret)?;
        let mut arguments = Vec::new();
        for argument in &function.args {
            arguments.push(self.argument(argument.name.as_deref(), &argument.ty, &doc)?);
        }
        check_tags(&doc, &arguments, &returns)?;
        if name.ends_with("_free") && !arguments.iter().all(|argument| argument.nullable) {
            return Err("a _free function accepts NULL and says so with @nullable".to_owned());
        }
        Ok(Function {
            name,
            arguments,
            returns,
            returns_nullable: doc.nullable.iter().any(|name| name == "return"),
            since: doc.since.clone().unwrap_or_else(|| "1.0".to_owned()),
            doc: doc.text(),
        })
    }

    fn argument(&self, name: Option<&str>, ty: &ir::Type, doc: &Doc) -> Result<Argument, String> {
        let shown = name.unwrap_or("an argument");
        let ty = self
            .types
            .crossing(ty)
            .map_err(|problem| format!("{shown}: {problem}"))?;
        let name = name.ok_or("has an argument without a name")?;
        let named = |names: &[String]| names.iter().any(|other| other == name);
        let direction = match (named(&doc.inputs), named(&doc.inouts)) {
            (true, true) => return Err(format!("{name}: both @in and @inout")),
            (true, false) => Direction::In,
            (false, true) => Direction::InOut,
            (false, false) => default_direction(name, &ty),
        };
        // What these two names mean is the same everywhere, so it is not tagged each time.
        let always_nullable = ["error", "user"].contains(&name);
        let nullable = ty.can_be_null() && (always_nullable || named(&doc.nullable));
        Ok(Argument {
            name: name.to_owned(),
            ty,
            nullable,
            direction,
        })
    }
}

/// A pointer to memory that may be written is an output, unless a tag says otherwise. Handles are
/// inputs, and so is the user pointer, which is only handed through.
fn default_direction(name: &str, ty: &Type) -> Direction {
    match ty {
        Type::Pointer {
            to,
            is_const: false,
        } if !matches!(**to, Type::Handle(_)) => {
            let handed_through = name == "user" && **to == Type::Void;
            if handed_through {
                Direction::In
            } else {
                Direction::Out
            }
        }
        _ => Direction::In,
    }
}

/// Each tag must name a pointer that is there and say something that the defaults don't.
fn check_tags(doc: &Doc, arguments: &[Argument], returns: &Type) -> Result<(), String> {
    for name in doc.nullable.iter().chain(&doc.inputs).chain(&doc.inouts) {
        if name == "return" && returns.can_be_null() {
            continue;
        }
        let argument = arguments.iter().find(|argument| argument.name == *name);
        if !argument.is_some_and(|argument| argument.ty.can_be_null()) {
            return Err(format!(
                "a tag names {name:?}, which is no pointer argument"
            ));
        }
    }
    let redundant = doc
        .nullable
        .iter()
        .find(|name| ["error", "user"].contains(&name.as_str()));
    match redundant {
        Some(name) => Err(format!("{name} is always nullable and needs no tag")),
        None => Ok(()),
    }
}
