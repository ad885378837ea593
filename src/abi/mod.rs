//! The C ABI: `extern "C"` functions only. Each checks its arguments, calls the client and fills the
//! error; what it does beyond that is somebody else's business. One file a noun.
//!
//! The header is generated from these files: a doc comment here is what a C programmer reads.

// The contract of every export about its pointers is in the header's preamble and in its own comment.
#![allow(clippy::missing_safety_doc)]

mod arguments;
mod boundary;
mod handlers;
mod handles;
mod openable;
mod partitions;

pub mod admin;
pub mod admin_request;
pub mod cluster;
pub mod cluster_brokers;
pub mod cluster_contents;
pub mod cluster_faults;
pub mod cluster_placement;
pub mod config;
pub mod consumer;
pub mod consumer_assignment;
pub mod consumer_offsets;
pub mod consumer_poll;
pub mod credentials;
mod events;
pub mod library;
pub mod metrics;
pub mod producer;
pub mod producer_send;
#[cfg(feature = "test-hooks")]
pub mod test_hooks;
pub mod token;
pub mod transaction;
