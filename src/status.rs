//! Status codes: every number that a fallible function can return, with its name and its text.
//!
//! The constants are plain so that the generator sees them. It writes `table.rs` from them and
//! their doc comments, so constant, name and text are said once.

mod broker;
mod local;
mod own;
mod table;

pub use broker::*;
pub use local::*;
pub use own::*;

use std::ffi::CStr;

/// The name of a code: its constant's without KABI_STATUS_, or UNKNOWN_CODE.
pub fn name(code: i32) -> &'static CStr {
    lookup(code).map_or(c"UNKNOWN_CODE", |status| status.name)
}

/// A short English text for a code.
pub fn text(code: i32) -> &'static CStr {
    lookup(code).map_or(c"Unknown code", |status| status.text)
}

struct Status {
    code: i32,
    name: &'static CStr,
    text: &'static CStr,
}

fn lookup(code: i32) -> Option<&'static Status> {
    let found = table::STATUSES.binary_search_by_key(&code, |status| status.code);
    found.ok().and_then(|index| table::STATUSES.get(index))
}

#[cfg(test)]
#[allow(unsafe_code)] // compares the table with librdkafka's own
mod tests;
