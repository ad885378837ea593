//! Owner of a `rd_kafka_mock_cluster_t`: brokers inside the process that any Kafka client can reach over
//! loopback. It lives on a client of its own, which connects to nothing and logs nothing.

use super::client::{Client, Hooks, Kind};
use super::conf::{Conf, Events, Logs};
use super::signals::Blocked;
use super::{c_string, check, sys, text_of};
use crate::error::{Error, Result};
use crate::status::KABI_STATUS_SYSTEM;
use std::ffi::c_int;
use std::net::{Ipv4Addr, TcpListener};
use std::ptr::NonNull;
use std::sync::Arc;

pub struct Mock {
    ptr: NonNull<sys::rd_kafka_mock_cluster_t>,
    /// Dropped after the cluster, which points into it.
    _client: Arc<Client>,
}

// SAFETY: the calls hand their work to the cluster's own thread or take its lock, so that they may come
// from any thread.
unsafe impl Send for Mock {}

impl Mock {
    pub fn new(brokers: i32) -> Result<Mock> {
        probe(brokers)?;
        let events = Events {
            logs: Logs::Off,
            ..Events::default()
        };
        let client = Client::new(Kind::Producer, Conf::new()?, events, Hooks::default())?;
        let _blocked = Blocked::all(); // it starts a thread
                                       // SAFETY: the client is alive and is kept so until the cluster is destroyed.
        let ptr = unsafe { sys::rd_kafka_mock_cluster_new(client.as_ptr(), brokers) };
        match NonNull::new(ptr) {
            Some(ptr) => Ok(Mock {
                ptr,
                _client: client,
            }),
            None => Err(Error::system("starting the embedded cluster")),
        }
    }

    pub fn bootstrap(&self) -> String {
        // SAFETY: the cluster is alive; its text is terminated, never changes and is copied.
        unsafe { text_of(sys::rd_kafka_mock_cluster_bootstraps(self.ptr.as_ptr())) }
    }

    /// How long a new group waits for further members before its first assignment.
    pub fn set_rebalance_delay(&self, ms: i32) {
        // SAFETY: the cluster is alive.
        unsafe { sys::rd_kafka_mock_group_initial_rebalance_delay_ms(self.ptr.as_ptr(), ms) };
    }

    pub fn create_topic(&self, name: &str, partitions: c_int, replication: c_int) -> Result<()> {
        let c_name = c_string(name, "the topic name")?;
        // SAFETY: the cluster is alive; the name is terminated and copied.
        let code = unsafe {
            sys::rd_kafka_mock_topic_create(
                self.ptr.as_ptr(),
                c_name.as_ptr(),
                partitions,
                replication,
            )
        };
        check(code, &format!("creating topic {name:?}"))
    }

    /// Closes a broker's connections and refuses new ones; -1 means all brokers.
    pub fn broker_down(&self, broker: i32) -> Result<()> {
        // SAFETY: the cluster is alive.
        let code = unsafe { sys::rd_kafka_mock_broker_set_down(self.ptr.as_ptr(), broker) };
        check(code, &format!("taking broker {broker} down"))
    }

    pub fn broker_up(&self, broker: i32) -> Result<()> {
        // SAFETY: the cluster is alive.
        let code = unsafe { sys::rd_kafka_mock_broker_set_up(self.ptr.as_ptr(), broker) };
        check(code, &format!("bringing broker {broker} up"))
    }

    /// Adds a delay to each answer of a broker; -1 means all brokers.
    pub fn set_latency(&self, broker: i32, ms: c_int) -> Result<()> {
        // SAFETY: the cluster is alive.
        let code = unsafe { sys::rd_kafka_mock_broker_set_rtt(self.ptr.as_ptr(), broker, ms) };
        check(code, &format!("setting the latency of broker {broker}"))
    }

    /// The next requests of this kind are answered with these codes, one each.
    pub fn push_errors(&self, request: i16, codes: &[i32]) {
        // SAFETY: the cluster is alive; the array has the given length and is copied. C reads integers
        // of four bytes, whatever the Rust enum of that type knows.
        unsafe {
            sys::rd_kafka_mock_push_request_errors_array(
                self.ptr.as_ptr(),
                request,
                codes.len(),
                codes.as_ptr().cast::<sys::rd_kafka_resp_err_t>(),
            );
        }
    }
}

impl Drop for Mock {
    fn drop(&mut self) {
        // SAFETY: owned; the client is still alive. It waits for the cluster's thread.
        unsafe { sys::rd_kafka_mock_cluster_destroy(self.ptr.as_ptr()) };
    }
}

/// librdkafka aborts the process when a mock broker gets no socket (its clean-up of a half-made cluster
/// asserts), so that the sockets are tried out first.
fn probe(brokers: i32) -> Result<()> {
    // The cluster's wake-up pipe, its client's descriptors, and room for first connections.
    const MORE: usize = 8;
    let count = usize::try_from(brokers).unwrap_or(0) + MORE;
    let opened: std::io::Result<Vec<TcpListener>> = (0..count)
        .map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)))
        .collect();
    opened.map(drop).map_err(|cause| {
        Error::new(
            KABI_STATUS_SYSTEM,
            format!("an embedded cluster of {brokers} needs {count} sockets on 127.0.0.1: {cause}"),
        )
    })
}
