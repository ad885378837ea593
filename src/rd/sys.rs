//! librdkafka's functions as this layer calls them. The crate's bindings are used as they are, but for
//! functions that return a C enumeration: bindgen made Rust enums of these, and a value that the enum
//! does not know (a broker newer than the library sends such codes) would be undefined behaviour. Those
//! are called here through a pointer of the same shape that returns an `i32`.

pub use rdkafka::bindings::*;
use std::ffi::{c_char, c_int, c_void};

/// What the records of a batch lie in.
#[repr(C)]
pub struct kafkabi_buffer_t {
    _opaque: [u8; 0],
}

/// What is taken from a queue; as in fetch.h.
#[repr(C)]
pub struct kafkabi_fetched_t {
    pub op: *mut c_void,
    pub buffer: *mut kafkabi_buffer_t,
    pub topic: *mut rd_kafka_topic_t,
    pub bytes: *const u8,
    pub size: usize,
    pub base_offset: i64,
    pub from: i64,
    pub timestamp: i64,
    pub left: i32,
    pub partition: i32,
    pub leader_epoch: i32,
    pub broker: i32,
    pub is_log_append: i32,
    pub last_delta: i32,
    pub code: i32,
    pub is_batch: i32,
}

extern "C" {
    // Of inside.c, run.c, fetch.c and take.c.
    pub fn kafkabi_inside_may_have_headers(message: *const rd_kafka_message_t) -> c_int;
    pub fn kafkabi_inside_ask_committed_again(rk: *mut rd_kafka_t);
    pub fn kafkabi_inside_produce(
        rkt: *mut rd_kafka_topic_t,
        partition: i32,
        messages: *mut rd_kafka_message_t,
        count: c_int,
    ) -> c_int;
    pub fn kafkabi_inside_settle(event: *mut rd_kafka_event_t);
    pub fn kafkabi_inside_receive_batches(conf: *mut rd_kafka_conf_t);
    pub fn kafkabi_inside_take(
        queue: *mut rd_kafka_queue_t,
        timeout_ms: c_int,
        taken: *mut kafkabi_fetched_t,
        room: c_int,
        most: i64,
    ) -> c_int;
    pub fn kafkabi_inside_message(single: *const kafkabi_fetched_t) -> *mut rd_kafka_message_t;
    pub fn kafkabi_inside_read(now: *const kafkabi_fetched_t) -> c_int;
    pub fn kafkabi_inside_done(batch: *const kafkabi_fetched_t);
    pub fn kafkabi_inside_put_back(queue: *mut rd_kafka_queue_t, taken: *const kafkabi_fetched_t);
    pub fn kafkabi_inside_spoilt(now: *const kafkabi_fetched_t) -> *mut rd_kafka_message_t;
    pub fn kafkabi_inside_hold(buffer: *mut kafkabi_buffer_t) -> *mut kafkabi_buffer_t;
    pub fn kafkabi_inside_let_go(buffer: *mut kafkabi_buffer_t);
}

macro_rules! return_i32 {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) -> $enum:ty;)*) => { $(
        #[inline]
        #[allow(non_snake_case, clippy::too_many_arguments)] // as librdkafka has them
        pub unsafe fn $name($($arg: $ty),*) -> i32 {
            let typed: unsafe extern "C" fn($($ty),*) -> $enum = rdkafka::bindings::$name;
            // SAFETY: the two pointer types differ only in the returned type, and a C enumeration is
            // returned as an `int`, which bindgen's `repr` of the enum (4 bytes) confirms below.
            let raw: unsafe extern "C" fn($($ty),*) -> i32 = unsafe { std::mem::transmute(typed) };
            const _: () = assert!(size_of::<$enum>() == size_of::<i32>());
            // SAFETY: the caller keeps the contract of the C function.
            unsafe { raw($($arg),*) }
        }
    )* };
}

type CommitCallback = Option<
    unsafe extern "C" fn(
        rk: *mut rd_kafka_t,
        err: rd_kafka_resp_err_t,
        offsets: *mut rd_kafka_topic_partition_list_t,
        opaque: *mut c_void,
    ),
>;

return_i32! {
    rd_kafka_conf_set(conf: *mut rd_kafka_conf_t, name: *const c_char, value: *const c_char,
        errstr: *mut c_char, errstr_size: usize) -> rd_kafka_conf_res_t;
    rd_kafka_conf_get(conf: *const rd_kafka_conf_t, name: *const c_char, dest: *mut c_char,
        dest_size: *mut usize) -> rd_kafka_conf_res_t;
    rd_kafka_oauthbearer_set_token(rk: *mut rd_kafka_t, token: *const c_char, lifetime_ms: i64,
        principal: *const c_char, extensions: *mut *const c_char, extension_size: usize,
        errstr: *mut c_char, errstr_size: usize) -> rd_kafka_resp_err_t;
    rd_kafka_oauthbearer_set_token_failure(rk: *mut rd_kafka_t, errstr: *const c_char)
        -> rd_kafka_resp_err_t;
    rd_kafka_last_error() -> rd_kafka_resp_err_t;
    rd_kafka_seek(topic: *mut rd_kafka_topic_t, partition: i32, offset: i64, timeout_ms: c_int)
        -> rd_kafka_resp_err_t;
    rd_kafka_error_code(error: *const rd_kafka_error_t) -> rd_kafka_resp_err_t;
    rd_kafka_fatal_error(rk: *mut rd_kafka_t, errstr: *mut c_char, errstr_size: usize)
        -> rd_kafka_resp_err_t;
    rd_kafka_event_error(event: *mut rd_kafka_event_t) -> rd_kafka_resp_err_t;
    rd_kafka_message_status(message: *const rd_kafka_message_t) -> rd_kafka_msg_status_t;
    rd_kafka_message_headers(message: *const rd_kafka_message_t, headers: *mut *mut rd_kafka_headers_t)
        -> rd_kafka_resp_err_t;
    rd_kafka_header_get_all(headers: *const rd_kafka_headers_t, index: usize,
        name: *mut *const c_char, value: *mut *const c_void, size: *mut usize) -> rd_kafka_resp_err_t;
    rd_kafka_flush(rk: *mut rd_kafka_t, timeout_ms: c_int) -> rd_kafka_resp_err_t;
    rd_kafka_purge(rk: *mut rd_kafka_t, flags: c_int) -> rd_kafka_resp_err_t;
    rd_kafka_set_log_queue(rk: *mut rd_kafka_t, queue: *mut rd_kafka_queue_t) -> rd_kafka_resp_err_t;
    rd_kafka_subscribe(rk: *mut rd_kafka_t, topics: *const rd_kafka_topic_partition_list_t)
        -> rd_kafka_resp_err_t;
    rd_kafka_unsubscribe(rk: *mut rd_kafka_t) -> rd_kafka_resp_err_t;
    rd_kafka_assign(rk: *mut rd_kafka_t, partitions: *const rd_kafka_topic_partition_list_t)
        -> rd_kafka_resp_err_t;
    rd_kafka_assignment(rk: *mut rd_kafka_t, partitions: *mut *mut rd_kafka_topic_partition_list_t)
        -> rd_kafka_resp_err_t;
    rd_kafka_offsets_store(rk: *mut rd_kafka_t, offsets: *mut rd_kafka_topic_partition_list_t)
        -> rd_kafka_resp_err_t;
    rd_kafka_commit_queue(rk: *mut rd_kafka_t, offsets: *const rd_kafka_topic_partition_list_t,
        queue: *mut rd_kafka_queue_t, callback: CommitCallback, opaque: *mut c_void)
        -> rd_kafka_resp_err_t;
    rd_kafka_committed(rk: *mut rd_kafka_t, partitions: *mut rd_kafka_topic_partition_list_t,
        timeout_ms: c_int) -> rd_kafka_resp_err_t;
    rd_kafka_metadata(rk: *mut rd_kafka_t, all_topics: c_int, only: *mut rd_kafka_topic_t,
        metadata: *mut *const rd_kafka_metadata, timeout_ms: c_int) -> rd_kafka_resp_err_t;
    rd_kafka_AdminOptions_set_request_timeout(options: *mut rd_kafka_AdminOptions_t, timeout_ms: c_int,
        errstr: *mut c_char, errstr_size: usize) -> rd_kafka_resp_err_t;
    rd_kafka_AdminOptions_set_operation_timeout(options: *mut rd_kafka_AdminOptions_t,
        timeout_ms: c_int, errstr: *mut c_char, errstr_size: usize) -> rd_kafka_resp_err_t;
    rd_kafka_AdminOptions_set_broker(options: *mut rd_kafka_AdminOptions_t, broker: i32,
        errstr: *mut c_char, errstr_size: usize) -> rd_kafka_resp_err_t;
    rd_kafka_AdminOptions_set_validate_only(options: *mut rd_kafka_AdminOptions_t, yes: c_int,
        errstr: *mut c_char, errstr_size: usize) -> rd_kafka_resp_err_t;
    rd_kafka_NewTopic_set_replica_assignment(topic: *mut rd_kafka_NewTopic_t, partition: i32,
        brokers: *mut i32, count: usize, errstr: *mut c_char, errstr_size: usize)
        -> rd_kafka_resp_err_t;
    rd_kafka_NewTopic_set_config(topic: *mut rd_kafka_NewTopic_t, name: *const c_char,
        value: *const c_char) -> rd_kafka_resp_err_t;
    rd_kafka_NewPartitions_set_replica_assignment(partitions: *mut rd_kafka_NewPartitions_t, index: i32,
        brokers: *mut i32, count: usize, errstr: *mut c_char, errstr_size: usize)
        -> rd_kafka_resp_err_t;
    rd_kafka_topic_result_error(topic: *const rd_kafka_topic_result_t) -> rd_kafka_resp_err_t;
    rd_kafka_ConfigResource_set_config(resource: *mut rd_kafka_ConfigResource_t, name: *const c_char,
        value: *const c_char) -> rd_kafka_resp_err_t;
    rd_kafka_ConfigResource_error(resource: *const rd_kafka_ConfigResource_t) -> rd_kafka_resp_err_t;
    rd_kafka_ConfigResource_type(resource: *const rd_kafka_ConfigResource_t)
        -> rd_kafka_ResourceType_t;
    rd_kafka_ConfigEntry_source(entry: *const rd_kafka_ConfigEntry_t) -> rd_kafka_ConfigSource_t;
    rd_kafka_ConsumerGroupListing_state(group: *const rd_kafka_ConsumerGroupListing_t)
        -> rd_kafka_consumer_group_state_t;
    rd_kafka_ConsumerGroupListing_type(group: *const rd_kafka_ConsumerGroupListing_t)
        -> rd_kafka_consumer_group_type_t;
    rd_kafka_ConsumerGroupDescription_state(group: *const rd_kafka_ConsumerGroupDescription_t)
        -> rd_kafka_consumer_group_state_t;
    rd_kafka_ConsumerGroupDescription_type(group: *const rd_kafka_ConsumerGroupDescription_t)
        -> rd_kafka_consumer_group_type_t;
    rd_kafka_AclBinding_restype(acl: *const rd_kafka_AclBinding_t) -> rd_kafka_ResourceType_t;
    rd_kafka_AclBinding_resource_pattern_type(acl: *const rd_kafka_AclBinding_t)
        -> rd_kafka_ResourcePatternType_t;
    rd_kafka_AclBinding_operation(acl: *const rd_kafka_AclBinding_t) -> rd_kafka_AclOperation_t;
    rd_kafka_AclBinding_permission_type(acl: *const rd_kafka_AclBinding_t)
        -> rd_kafka_AclPermissionType_t;
    rd_kafka_ScramCredentialInfo_mechanism(credential: *const rd_kafka_ScramCredentialInfo_t)
        -> rd_kafka_ScramMechanism_t;
    rd_kafka_mock_topic_create(cluster: *mut rd_kafka_mock_cluster_t, topic: *const c_char,
        partitions: c_int, replication: c_int) -> rd_kafka_resp_err_t;
    rd_kafka_mock_broker_add(cluster: *mut rd_kafka_mock_cluster_t, broker: i32) -> rd_kafka_resp_err_t;
    rd_kafka_mock_broker_decommission(cluster: *mut rd_kafka_mock_cluster_t, broker: i32)
        -> rd_kafka_resp_err_t;
    rd_kafka_mock_partition_push_leader_response(cluster: *mut rd_kafka_mock_cluster_t,
        topic: *const c_char, partition: c_int, leader: i32, leader_epoch: i32) -> rd_kafka_resp_err_t;
    rd_kafka_mock_telemetry_set_push_interval(cluster: *mut rd_kafka_mock_cluster_t, interval_ms: i64)
        -> rd_kafka_resp_err_t;
    rd_kafka_mock_telemetry_set_requested_metrics(cluster: *mut rd_kafka_mock_cluster_t,
        metrics: *mut *mut c_char, count: usize) -> rd_kafka_resp_err_t;
    rd_kafka_mock_broker_set_down(cluster: *mut rd_kafka_mock_cluster_t, broker: i32)
        -> rd_kafka_resp_err_t;
    rd_kafka_mock_broker_set_up(cluster: *mut rd_kafka_mock_cluster_t, broker: i32)
        -> rd_kafka_resp_err_t;
    rd_kafka_mock_broker_set_rtt(cluster: *mut rd_kafka_mock_cluster_t, broker: i32, rtt_ms: c_int)
        -> rd_kafka_resp_err_t;
    rd_kafka_subscription(rk: *mut rd_kafka_t, topics: *mut *mut rd_kafka_topic_partition_list_t)
        -> rd_kafka_resp_err_t;
    rd_kafka_pause_partitions(rk: *mut rd_kafka_t, partitions: *mut rd_kafka_topic_partition_list_t)
        -> rd_kafka_resp_err_t;
    rd_kafka_resume_partitions(rk: *mut rd_kafka_t, partitions: *mut rd_kafka_topic_partition_list_t)
        -> rd_kafka_resp_err_t;
    rd_kafka_offsets_for_times(rk: *mut rd_kafka_t, offsets: *mut rd_kafka_topic_partition_list_t,
        timeout_ms: c_int) -> rd_kafka_resp_err_t;
    rd_kafka_query_watermark_offsets(rk: *mut rd_kafka_t, topic: *const c_char, partition: i32,
        low: *mut i64, high: *mut i64, timeout_ms: c_int) -> rd_kafka_resp_err_t;
    rd_kafka_get_watermark_offsets(rk: *mut rd_kafka_t, topic: *const c_char, partition: i32,
        low: *mut i64, high: *mut i64) -> rd_kafka_resp_err_t;
    rd_kafka_mock_broker_set_rack(cluster: *mut rd_kafka_mock_cluster_t, broker: i32,
        rack: *const c_char) -> rd_kafka_resp_err_t;
    rd_kafka_mock_broker_error_stack_cnt(cluster: *mut rd_kafka_mock_cluster_t, broker: i32,
        request: i16, count: *mut usize) -> rd_kafka_resp_err_t;
    rd_kafka_mock_partition_set_leader(cluster: *mut rd_kafka_mock_cluster_t, topic: *const c_char,
        partition: i32, broker: i32) -> rd_kafka_resp_err_t;
    rd_kafka_mock_partition_set_follower(cluster: *mut rd_kafka_mock_cluster_t,
        topic: *const c_char, partition: i32, broker: i32) -> rd_kafka_resp_err_t;
    rd_kafka_mock_partition_set_follower_wmarks(cluster: *mut rd_kafka_mock_cluster_t,
        topic: *const c_char, partition: i32, low: i64, high: i64) -> rd_kafka_resp_err_t;
    rd_kafka_mock_coordinator_set(cluster: *mut rd_kafka_mock_cluster_t, kind: *const c_char,
        key: *const c_char, broker: i32) -> rd_kafka_resp_err_t;
    rd_kafka_mock_set_apiversion(cluster: *mut rd_kafka_mock_cluster_t, request: i16, min: i16,
        max: i16) -> rd_kafka_resp_err_t;
}

pub type ResolveCallback = unsafe extern "C" fn(
    node: *const c_char,
    service: *const c_char,
    hints: *const libc::addrinfo,
    found: *mut *mut libc::addrinfo,
    opaque: *mut c_void,
) -> c_int;

extern "C" {
    /// rdkafka.h has it, the crate's bindings do not (they know no `addrinfo`).
    pub fn rd_kafka_conf_set_resolve_cb(conf: *mut rd_kafka_conf_t, callback: ResolveCallback);
}

/// Takes the code as the integer that it is in C.
pub unsafe fn rd_kafka_mock_topic_set_error(
    cluster: *mut rd_kafka_mock_cluster_t,
    topic: *const c_char,
    code: i32,
) {
    type Typed =
        unsafe extern "C" fn(*mut rd_kafka_mock_cluster_t, *const c_char, rd_kafka_resp_err_t);
    type Raw = unsafe extern "C" fn(*mut rd_kafka_mock_cluster_t, *const c_char, i32);
    let typed: Typed = rdkafka::bindings::rd_kafka_mock_topic_set_error;
    // SAFETY: as in the macro above: an enumeration of four bytes is passed as an `int`.
    let raw: Raw = unsafe { std::mem::transmute(typed) };
    // SAFETY: the caller keeps the contract of the C function.
    unsafe { raw(cluster, topic, code) }
}

/// One error and its delay: the function takes its pairs as variable arguments.
pub unsafe fn rd_kafka_mock_broker_push_request_error(
    cluster: *mut rd_kafka_mock_cluster_t,
    broker: i32,
    request: i16,
    code: i32,
    delay_ms: c_int,
) -> i32 {
    type Typed = unsafe extern "C" fn(
        *mut rd_kafka_mock_cluster_t,
        i32,
        i16,
        usize,
        ...
    ) -> rd_kafka_resp_err_t;
    type Raw = unsafe extern "C" fn(*mut rd_kafka_mock_cluster_t, i32, i16, usize, ...) -> i32;
    let typed: Typed = rdkafka::bindings::rd_kafka_mock_broker_push_request_error_rtts;
    // SAFETY: as in the macro above.
    let raw: Raw = unsafe { std::mem::transmute(typed) };
    // SAFETY: one pair, as the count says; the caller keeps the rest of the contract.
    unsafe { raw(cluster, broker, request, 1, code, delay_ms) }
}
