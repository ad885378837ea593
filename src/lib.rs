//! map
pub mod record;
