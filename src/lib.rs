//! map

#[doc(hidden)]
pub mod handle;
