//! The safe core: producer, consumer, embedded cluster, configuration, events. It knows nothing of C: no
//! raw pointers are followed here and no function pointers are called.

pub mod admin;
pub mod cluster;
pub mod config;
pub mod consumer;
mod contexts;
pub mod events;
mod hints;
pub mod lifetime;
mod metrics;
pub mod packed;
mod partitions;
pub mod producer;
mod service;
pub mod threads;
pub mod topics;
