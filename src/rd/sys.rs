//! librdkafka's functions as this layer calls them. The crate's bindings are used as they are, but for
//! functions that return a C enumeration: bindgen made Rust enums of these, and a value that the enum
//! does not know (a broker newer than the library sends such codes) would be undefined behaviour. Those
//! are called here through a pointer of the same shape that returns an `i32`.

pub use rdkafka::bindings::*;
use std::ffi::{c_char, c_int, c_void};

macro_rules! return_i32 {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) -> $enum:ty;)*) => { $(
        #[inline]
        #[allow(clippy::too_many_arguments)] // as many as the C function has
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
    rd_kafka_mock_topic_create(cluster: *mut rd_kafka_mock_cluster_t, topic: *const c_char,
        partitions: c_int, replication: c_int) -> rd_kafka_resp_err_t;
    rd_kafka_mock_broker_set_down(cluster: *mut rd_kafka_mock_cluster_t, broker: i32)
        -> rd_kafka_resp_err_t;
    rd_kafka_mock_broker_set_up(cluster: *mut rd_kafka_mock_cluster_t, broker: i32)
        -> rd_kafka_resp_err_t;
    rd_kafka_mock_broker_set_rtt(cluster: *mut rd_kafka_mock_cluster_t, broker: i32, rtt_ms: c_int)
        -> rd_kafka_resp_err_t;
}
