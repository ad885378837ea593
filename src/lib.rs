//! map
pub mod record;
pub mod status;
