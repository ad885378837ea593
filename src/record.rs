//! The plain records, constants and callback types of the C contract, under their C names.
//!
//! The generator copies every doc comment below into include/kafkabi.h and api/kafkabi.json, so
//! they are written for C readers and are the reference documentation. An argument or field that
//! may be NULL is named in an `@nullable` line, which the generator reads.
#![allow(non_camel_case_types)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("kafkabi needs a 64-bit target: the layouts of its records are fixed");

/// Asserts a record's size and the offset of each of its fields at compile time.
///
/// The generator reads these invocations too and compares them with the layout that it computes
/// for C, so the header's offsets are those of the compiled library. A field left out here does
/// not compile.
macro_rules! layout {
    ($record:ident: $size:literal { $($field:ident: $offset:literal),+ $(,)? }) => {
        const _: () = {
            assert!(std::mem::size_of::<$record>() == $size);
            assert!(std::mem::align_of::<$record>() <= 8);
            $(assert!(std::mem::offset_of!($record, $field) == $offset);)+
            const fn _complete(record: $record) {
                let $record { $($field: _),+ } = record;
            }
        };
    };
}

mod assignment;
mod batch;
mod error;
mod event;
mod handle;
mod library;
mod message;
mod partition;
mod request;

pub use assignment::*;
pub use batch::*;
pub use error::*;
pub use event::*;
pub use handle::*;
pub use library::*;
pub use message::*;
pub use partition::*;
pub use request::*;
