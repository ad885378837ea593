//! Resolves cbindgen's types to the few kinds that may cross, and says why another one may not.

use crate::model::{Scalar, Type};
use cbindgen::bindgen::ir::{self, ConstExpr, IntKind, ItemContainer, PrimitiveType};
use std::collections::HashMap;

/// What each declared name stands for.
#[derive(Default)]
pub struct Types {
    named: HashMap<String, Type>,
    alias_sizes: HashMap<String, usize>,
    constants: HashMap<String, i128>,
}

impl Types {
    /// The constants that may be an array's length.
    pub fn set_constants(&mut self, constants: &HashMap<String, i128>) {
        self.constants.clone_from(constants);
    }

    pub fn get(&self, name: &str) -> Option<Type> {
        self.named.get(name).cloned()
    }

    pub fn alias_size(&self, name: &str) -> Option<usize> {
        self.alias_sizes.get(name).copied()
    }

    /// Notes what kind of type an item declares.
    pub fn declare(&mut self, item: &ItemContainer) -> Result<(), String> {
        let name = item.deref().export_name().to_owned();
        let ty = match item {
            ItemContainer::Struct(record) if is_handle(record) => Type::Handle(name.clone()),
            ItemContainer::Struct(_) => Type::Record(name.clone()),
            ItemContainer::Typedef(alias) => match &alias.aliased {
                ir::Type::FuncPtr { .. } => Type::Callback(name.clone()),
                aliased => {
                    let size = scalar(aliased)?.size();
                    self.alias_sizes.insert(name.clone(), size);
                    Type::Alias(name.clone())
                }
            },
            ItemContainer::OpaqueItem(_) => return Err("needs #[repr(C)]".to_owned()),
            _ => return Err("only structs and type aliases may cross, no enum or union".to_owned()),
        };
        match self.named.insert(name, ty) {
            None => Ok(()),
            Some(_) => Err("is declared twice".to_owned()),
        }
    }

    /// A type as an argument or result: by value only scalars and function pointers.
    pub fn crossing(&self, ty: &ir::Type) -> Result<Type, String> {
        let resolved = self.resolve(ty)?;
        match &resolved {
            Type::Record(name) | Type::Handle(name) => Err(format!("{name} would cross by value")),
            Type::Array { .. } => Err("an array would cross by value".to_owned()),
            Type::Scalar(Scalar::Char) => Err("a char would cross by value".to_owned()),
            Type::Pointer { .. } if resolved.pointer_depth() > 2 => {
                Err("more than two levels of pointers".to_owned())
            }
            _ => Ok(resolved),
        }
    }

    pub fn resolve(&self, ty: &ir::Type) -> Result<Type, String> {
        match ty {
            ir::Type::Primitive(PrimitiveType::Void) => Ok(Type::Void),
            ir::Type::Primitive(_) => Ok(Type::Scalar(scalar(ty)?)),
            ir::Type::Ptr {
                ty: to,
                is_const,
                is_nullable: true,
                is_ref: false,
            } => Ok(Type::Pointer {
                to: Box::new(self.resolve(to)?),
                is_const: *is_const,
            }),
            ir::Type::Ptr { .. } => {
                Err("a reference would be undefined behaviour for NULL: take a raw pointer".into())
            }
            ir::Type::Path(path) if path.generics().is_empty() => {
                let name = path.export_name();
                self.get(name)
                    .ok_or_else(|| format!("{name} is not a type of the interface"))
            }
            ir::Type::Path(path) => Err(format!("{}<> has no C form", path.export_name())),
            ir::Type::Array(of, length) => self.array(of, length),
            ir::Type::FuncPtr { .. } => Err("a function pointer needs a type name".to_owned()),
        }
    }

    fn array(&self, of: &ir::Type, length: &ConstExpr) -> Result<Type, String> {
        let (number, length_name) = match length {
            ConstExpr::Value(text) => (text.parse().ok(), None),
            ConstExpr::Path(path) => {
                let name = path.export_name().to_owned();
                let number = self.constants.get(&name).copied();
                (
                    number.and_then(|number| usize::try_from(number).ok()),
                    Some(name),
                )
            }
        };
        let length = number.ok_or_else(|| format!("the length {} is unknown", length.as_str()))?;
        Ok(Type::Array {
            of: scalar(of)?,
            length,
            length_name,
        })
    }
}

/// An opaque handle is `#[repr(C)] struct X { _private: [u8; 0] }`.
fn is_handle(record: &ir::Struct) -> bool {
    matches!(record.fields.as_slice(), [field] if field.name == "_private")
}

/// The scalar behind a primitive type, if its width is the same everywhere.
pub fn scalar(ty: &ir::Type) -> Result<Scalar, String> {
    let ir::Type::Primitive(primitive) = ty else {
        return Err("is not a plain integer".to_owned());
    };
    match primitive {
        PrimitiveType::Char => Ok(Scalar::Char),
        PrimitiveType::Integer {
            zeroable: true,
            signed,
            kind,
        } => match (kind, signed) {
            (IntKind::B8, true) => Ok(Scalar::I8),
            (IntKind::B8, false) => Ok(Scalar::U8),
            (IntKind::B16, true) => Ok(Scalar::I16),
            (IntKind::B16, false) => Ok(Scalar::U16),
            (IntKind::B32, true) => Ok(Scalar::I32),
            (IntKind::B32, false) => Ok(Scalar::U32),
            (IntKind::B64, true) => Ok(Scalar::I64),
            (IntKind::B64, false) => Ok(Scalar::U64),
            (IntKind::Size | IntKind::SizeT, false) => Ok(Scalar::Size),
            _ => Err(format!("{} has no fixed width", primitive.to_repr_rust())),
        },
        PrimitiveType::VaList => Err("variable arguments can't be called from everywhere".into()),
        other => Err(format!(
            "{} may not cross: use a fixed-width integer",
            other.to_repr_rust()
        )),
    }
}
