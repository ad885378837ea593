//! The model of the C interface that every emitter is fed from.
//!
//! It is complete and checked: whatever is in here may cross the boundary. Types are resolved to
//! the few kinds that are allowed to, so an emitter's match over them is short and exhaustive.

/// The whole interface, in the order in which it is declared.
pub struct Model {
    pub abi_version: u32,
    pub constants: Vec<Constant>,
    pub aliases: Vec<Alias>,
    pub handles: Vec<Handle>,
    pub records: Vec<Record>,
    pub callbacks: Vec<Callback>,
    pub functions: Vec<Function>,
}

/// An integer that crosses by value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scalar {
    I8,
    U8,
    I16,
    U16,
    I32,
    U32,
    I64,
    U64,
    Size,
    /// Text; only ever behind a pointer or in an array.
    Char,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    Void,
    Scalar(Scalar),
    /// A name for a scalar, such as kabi_status_t.
    Alias(String),
    Handle(String),
    Record(String),
    Callback(String),
    Pointer {
        to: Box<Type>,
        is_const: bool,
    },
    Array {
        of: Scalar,
        length: usize,
        length_name: Option<String>,
    },
}

/// Which way an argument's memory is used. Scalars, handles and strings are inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    In,
    Out,
    InOut,
}

pub struct Constant {
    pub name: String,
    pub ty: Scalar,
    pub value: i128,
    /// The value as C source, with its suffix or parentheses.
    pub c_value: String,
    pub doc: String,
}

pub struct Alias {
    pub name: String,
    pub ty: Scalar,
    pub doc: String,
}

pub struct Handle {
    pub name: String,
    pub doc: String,
}

pub struct Record {
    pub name: String,
    pub size: usize,
    pub alignment: usize,
    pub fields: Vec<Field>,
    pub doc: String,
}

pub struct Field {
    pub name: String,
    pub ty: Type,
    pub offset: usize,
    pub size: usize,
    pub nullable: bool,
    pub doc: String,
}

pub struct Argument {
    pub name: String,
    pub ty: Type,
    pub nullable: bool,
    pub direction: Direction,
}

pub struct Callback {
    pub name: String,
    pub arguments: Vec<Argument>,
    pub returns: Type,
    pub doc: String,
}

pub struct Function {
    pub name: String,
    pub arguments: Vec<Argument>,
    pub returns: Type,
    pub returns_nullable: bool,
    /// The ABI version that brought it, as "major.minor".
    pub since: String,
    pub doc: String,
}

impl Scalar {
    pub fn c_name(self) -> &'static str {
        match self {
            Scalar::I8 => "int8_t",
            Scalar::U8 => "uint8_t",
            Scalar::I16 => "int16_t",
            Scalar::U16 => "uint16_t",
            Scalar::I32 => "int32_t",
            Scalar::U32 => "uint32_t",
            Scalar::I64 => "int64_t",
            Scalar::U64 => "uint64_t",
            Scalar::Size => "size_t",
            Scalar::Char => "char",
        }
    }

    pub fn size(self) -> usize {
        match self {
            Scalar::I8 | Scalar::U8 | Scalar::Char => 1,
            Scalar::I16 | Scalar::U16 => 2,
            Scalar::I32 | Scalar::U32 => 4,
            Scalar::I64 | Scalar::U64 | Scalar::Size => 8,
        }
    }

    pub fn is_unsigned(self) -> bool {
        matches!(
            self,
            Scalar::U8 | Scalar::U16 | Scalar::U32 | Scalar::U64 | Scalar::Size
        )
    }
}

impl Type {
    /// The type's spelling in C, such as `const char *const *`. An array's length is left out.
    pub fn c_name(&self) -> String {
        match self {
            Type::Void => "void".to_owned(),
            Type::Scalar(scalar) | Type::Array { of: scalar, .. } => scalar.c_name().to_owned(),
            Type::Alias(name) | Type::Handle(name) | Type::Record(name) | Type::Callback(name) => {
                name.clone()
            }
            Type::Pointer { to, is_const } => match (to.as_ref(), is_const) {
                (Type::Pointer { .. }, true) => format!("{}const *", to.c_name()),
                (Type::Pointer { .. }, false) => format!("{}*", to.c_name()),
                (_, true) => format!("const {} *", to.c_name()),
                (_, false) => format!("{} *", to.c_name()),
            },
        }
    }

    /// The type behind all pointers, or of an array's elements.
    pub fn base(&self) -> &Type {
        match self {
            Type::Pointer { to, .. } => to.base(),
            other => other,
        }
    }

    pub fn pointer_depth(&self) -> usize {
        match self {
            Type::Pointer { to, .. } => 1 + to.pointer_depth(),
            _ => 0,
        }
    }

    /// Whether a caller could pass NULL at all: pointers and function pointers.
    pub fn can_be_null(&self) -> bool {
        matches!(self, Type::Pointer { .. } | Type::Callback(_))
    }
}

impl Direction {
    pub fn name(self) -> &'static str {
        match self {
            Direction::In => "in",
            Direction::Out => "out",
            Direction::InOut => "inout",
        }
    }
}
