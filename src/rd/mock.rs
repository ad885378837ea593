//! Owner of a `rd_kafka_mock_cluster_t`: brokers inside the process that any Kafka client can reach over
//! loopback. It lives on a client of its own, which connects to nothing and logs nothing.

use super::client::{Client, Hooks, Kind};
use super::conf::{Conf, Events, Logs};
use super::partitions::PartitionList;
use super::signals::Blocked;
use super::{c_string, check, sys, text_of};
use crate::error::{Error, Result};
use crate::record::kabi_request_t;
use crate::status::KABI_STATUS_SYSTEM;
use std::ffi::{c_char, c_int};
use std::net::{Ipv4Addr, TcpListener};
use std::ptr::NonNull;
use std::sync::Arc;

/// What a coordinator coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coordinator {
    Group,
    Transaction,
}

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

    /// As `set_rebalance_delay`, for groups by the protocol of KIP-848: what the coordinator tells its
    /// members.
    pub fn set_group_timing(&self, session_timeout_ms: c_int, heartbeat_interval_ms: c_int) {
        // SAFETY: the cluster is alive.
        unsafe {
            sys::rd_kafka_mock_set_group_consumer_session_timeout_ms(
                self.ptr.as_ptr(),
                session_timeout_ms,
            );
            sys::rd_kafka_mock_set_group_consumer_heartbeat_interval_ms(
                self.ptr.as_ptr(),
                heartbeat_interval_ms,
            );
        }
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

    /// Partitions are spread anew over all brokers.
    pub fn broker_add(&self, broker: i32) -> Result<()> {
        // SAFETY: the cluster is alive.
        let code = unsafe { sys::rd_kafka_mock_broker_add(self.ptr.as_ptr(), broker) };
        check(code, &format!("adding broker {broker}"))
    }

    /// Partitions are spread anew over the others, of which there must be one.
    pub fn broker_remove(&self, broker: i32) -> Result<()> {
        // SAFETY: the cluster is alive.
        let code = unsafe { sys::rd_kafka_mock_broker_decommission(self.ptr.as_ptr(), broker) };
        check(code, &format!("removing broker {broker}"))
    }

    /// The address that clients are told.
    pub fn set_address(&self, broker: i32, host: &str, port: c_int) -> Result<()> {
        let c_host = c_string(host, "the host")?;
        // SAFETY: the cluster is alive; the text is terminated and copied.
        unsafe {
            sys::rd_kafka_mock_broker_set_host_port(
                self.ptr.as_ptr(),
                broker,
                c_host.as_ptr(),
                port,
            );
        }
        Ok(())
    }

    /// The metrics whose names begin like this are asked for, so often. A cluster that is told twice leaks.
    pub fn set_telemetry(&self, metrics: &[&str], interval_ms: c_int) -> Result<()> {
        let names = metrics
            .iter()
            .map(|name| c_string(name, "a metric's name"))
            .collect::<Result<Vec<_>>>()?;
        let mut pointers: Vec<*mut c_char> = names.iter().map(|n| n.as_ptr().cast_mut()).collect();
        // SAFETY: the cluster is alive; the array has so many terminated texts, which are copied.
        let code = unsafe {
            let _always_ok = sys::rd_kafka_mock_telemetry_set_push_interval(
                self.ptr.as_ptr(),
                i64::from(interval_ms),
            );
            sys::rd_kafka_mock_telemetry_set_requested_metrics(
                self.ptr.as_ptr(),
                pointers.as_mut_ptr(),
                pointers.len(),
            )
        };
        check(code, "asking for metrics")
    }

    /// Adds a delay to each answer of a broker; -1 means all brokers.
    pub fn set_latency(&self, broker: i32, ms: c_int) -> Result<()> {
        // SAFETY: the cluster is alive.
        let code = unsafe { sys::rd_kafka_mock_broker_set_rtt(self.ptr.as_ptr(), broker, ms) };
        check(code, &format!("setting the latency of broker {broker}"))
    }

    /// The rack that clients are told; -1 means all brokers.
    pub fn set_rack(&self, broker: i32, rack: &str) -> Result<()> {
        let c_rack = c_string(rack, "the rack")?;
        // SAFETY: the cluster is alive; the text is terminated and copied.
        let code = unsafe {
            sys::rd_kafka_mock_broker_set_rack(self.ptr.as_ptr(), broker, c_rack.as_ptr())
        };
        check(code, &format!("setting the rack of broker {broker}"))
    }

    /// -1 leaves the partition without a leader. Makes the topic if it is not there.
    pub fn set_leader(&self, topic: &str, partition: i32, broker: i32) -> Result<()> {
        let c_topic = c_string(topic, "the topic name")?;
        // SAFETY: the cluster is alive; the name is terminated and copied.
        let code = unsafe {
            sys::rd_kafka_mock_partition_set_leader(
                self.ptr.as_ptr(),
                c_topic.as_ptr(),
                partition,
                broker,
            )
        };
        check(code, &format!("setting the leader of {topic}/{partition}"))
    }

    /// The next answer about the partition's leader is this; -1 for none. Makes the topic if it is not there.
    pub fn push_leader(
        &self,
        topic: &str,
        partition: i32,
        broker: i32,
        leader_epoch: i32,
    ) -> Result<()> {
        let c_topic = c_string(topic, "the topic name")?;
        // SAFETY: the cluster is alive; the name is terminated and copied.
        let code = unsafe {
            sys::rd_kafka_mock_partition_push_leader_response(
                self.ptr.as_ptr(),
                c_topic.as_ptr(),
                partition,
                broker,
                leader_epoch,
            )
        };
        check(
            code,
            &format!("answering the leader of {topic}/{partition}"),
        )
    }

    /// -1 takes the follower away. Makes the topic if it is not there.
    pub fn set_follower(&self, topic: &str, partition: i32, broker: i32) -> Result<()> {
        let c_topic = c_string(topic, "the topic name")?;
        // SAFETY: the cluster is alive; the name is terminated and copied.
        let code = unsafe {
            sys::rd_kafka_mock_partition_set_follower(
                self.ptr.as_ptr(),
                c_topic.as_ptr(),
                partition,
                broker,
            )
        };
        check(
            code,
            &format!("setting the follower of {topic}/{partition}"),
        )
    }

    /// -1 means the leader's. Makes the topic if it is not there.
    pub fn set_follower_watermarks(
        &self,
        topic: &str,
        partition: i32,
        low: i64,
        high: i64,
    ) -> Result<()> {
        let c_topic = c_string(topic, "the topic name")?;
        // SAFETY: the cluster is alive; the name is terminated and copied.
        let code = unsafe {
            sys::rd_kafka_mock_partition_set_follower_wmarks(
                self.ptr.as_ptr(),
                c_topic.as_ptr(),
                partition,
                low,
                high,
            )
        };
        check(
            code,
            &format!("setting the follower's watermarks of {topic}/{partition}"),
        )
    }

    /// The broker must be there: librdkafka aborts when a client asks for a coordinator that is not.
    pub fn set_coordinator(&self, kind: Coordinator, key: &str, broker: i32) -> Result<()> {
        let c_key = c_string(key, "the coordinator's key")?;
        let c_kind = match kind {
            Coordinator::Group => c"group",
            Coordinator::Transaction => c"transaction",
        };
        // SAFETY: the cluster is alive; the texts are terminated and copied.
        let code = unsafe {
            sys::rd_kafka_mock_coordinator_set(
                self.ptr.as_ptr(),
                c_kind.as_ptr(),
                c_key.as_ptr(),
                broker,
            )
        };
        check(code, &format!("setting the coordinator of {key:?}"))
    }

    /// Metadata answers tell this code of the topic. Makes the topic if it is not there.
    pub fn set_topic_error(&self, topic: &str, code: i32) -> Result<()> {
        let c_topic = c_string(topic, "the topic name")?;
        // SAFETY: the cluster is alive; the name is terminated and copied.
        unsafe {
            sys::rd_kafka_mock_topic_set_error(self.ptr.as_ptr(), c_topic.as_ptr(), code);
        }
        Ok(())
    }

    /// The versions that brokers say they understand of a request; -1 and -1 for not at all.
    pub fn set_api_versions(&self, request: i16, min: i16, max: i16) -> Result<()> {
        // SAFETY: the cluster is alive.
        let code =
            unsafe { sys::rd_kafka_mock_set_apiversion(self.ptr.as_ptr(), request, min, max) };
        check(code, &format!("setting the versions of request {request}"))
    }

    /// The next request of this kind to one broker is answered with this code, after this delay.
    pub fn push_broker_error(
        &self,
        broker: i32,
        request: i16,
        code: i32,
        delay_ms: c_int,
    ) -> Result<()> {
        // SAFETY: the cluster is alive.
        let outcome = unsafe {
            sys::rd_kafka_mock_broker_push_request_error(
                self.ptr.as_ptr(),
                broker,
                request,
                code,
                delay_ms,
            )
        };
        check(outcome, &format!("injecting an error into broker {broker}"))
    }

    /// How many errors wait for requests of this kind to one broker.
    pub fn broker_errors_left(&self, broker: i32, request: i16) -> Result<usize> {
        let mut count = 0;
        // SAFETY: the cluster is alive; the count is written before the call returns.
        let code = unsafe {
            sys::rd_kafka_mock_broker_error_stack_cnt(
                self.ptr.as_ptr(),
                broker,
                request,
                &mut count,
            )
        };
        check(code, &format!("counting the errors of broker {broker}"))?;
        Ok(count)
    }

    /// Drops the errors pushed by `push_errors`.
    pub fn clear_errors(&self, request: i16) {
        // SAFETY: the cluster is alive.
        unsafe { sys::rd_kafka_mock_clear_request_errors(self.ptr.as_ptr(), request) };
    }

    /// Starts or ends keeping a list of the requests that come; either way it begins empty.
    pub fn track_requests(&self, on: bool) {
        // SAFETY: the cluster is alive.
        unsafe {
            if on {
                sys::rd_kafka_mock_start_request_tracking(self.ptr.as_ptr());
            } else {
                sys::rd_kafka_mock_stop_request_tracking(self.ptr.as_ptr());
            }
        }
    }

    /// The requests that came while they were tracked, in order.
    pub fn requests(&self) -> Vec<kabi_request_t> {
        let mut count = 0;
        // SAFETY: the cluster is alive; the array, NULL for none, holds `count` requests, which are only
        // read here and destroyed with it.
        unsafe {
            let array = sys::rd_kafka_mock_get_requests(self.ptr.as_ptr(), &mut count);
            if array.is_null() {
                return Vec::new();
            }
            let requests = std::slice::from_raw_parts(array, count)
                .iter()
                .map(|&request| kabi_request_t {
                    time_us: sys::rd_kafka_mock_request_timestamp(request),
                    broker: sys::rd_kafka_mock_request_id(request),
                    request: i32::from(sys::rd_kafka_mock_request_api_key(request)),
                    reserved: 0,
                })
                .collect();
            sys::rd_kafka_mock_request_destroy_array(array, count);
            requests
        }
    }

    /// What the members of a group by the protocol of KIP-848 are to be assigned; `None` lets the
    /// cluster assign again. Nothing happens if there is no such group, and members that it does not
    /// have are passed over.
    pub fn set_target_assignment(
        &self,
        group: &str,
        target: Option<&[(String, PartitionList)]>,
    ) -> Result<()> {
        let c_group = c_string(group, "the group")?;
        let Some(target) = target else {
            // SAFETY: the cluster is alive; NULL means none.
            unsafe {
                sys::rd_kafka_mock_cgrp_consumer_target_assignment(
                    self.ptr.as_ptr(),
                    c_group.as_ptr(),
                    std::ptr::null_mut(),
                );
            }
            return Ok(());
        };
        let names = target
            .iter()
            .map(|(member, _)| c_string(member, "the member id"))
            .collect::<Result<Vec<_>>>()?;
        let mut members: Vec<*mut c_char> = names.iter().map(|n| n.as_ptr().cast_mut()).collect();
        let mut lists: Vec<_> = target.iter().map(|(_, list)| list.as_ptr()).collect();
        let count = c_int::try_from(target.len())
            .map_err(|_| Error::argument("more members than a group has"))?;
        // SAFETY: both arrays have `count` elements, which are copied; the target made of them is copied
        // by the second call and destroyed by the third.
        unsafe {
            let made = sys::rd_kafka_mock_cgrp_consumer_target_assignment_new(
                members.as_mut_ptr(),
                count,
                lists.as_mut_ptr(),
            );
            sys::rd_kafka_mock_cgrp_consumer_target_assignment(
                self.ptr.as_ptr(),
                c_group.as_ptr(),
                made,
            );
            sys::rd_kafka_mock_cgrp_consumer_target_assignment_destroy(made);
        }
        Ok(())
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
pub fn probe(brokers: i32) -> Result<()> {
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
