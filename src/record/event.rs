//! Events: what a client has to tell its program outside of a call's own result.

use super::KABI_OFFSET_INVALID;
use std::ffi::c_void;

/// Event kind: a sent record was delivered or has failed for good. Exactly one comes for each
/// record that was accepted.
pub const KABI_EVENT_REPORT: u32 = 1;
/// Event kind: an error that belongs to no call, such as a broker that went away.
pub const KABI_EVENT_ERROR: u32 = 2;
/// Event kind: a line of the client's log.
pub const KABI_EVENT_LOG: u32 = 4;
/// Event kind: statistics as a JSON document, every statistics.interval.ms.
pub const KABI_EVENT_STATISTICS: u32 = 8;
/// Event kind: the assignment of a consumer has changed, or is about to. Handlers for it run inside
/// kabi_consumer_poll() and kabi_consumer_poll_packed(), before any record of the new assignment.
pub const KABI_EVENT_ASSIGNMENT: u32 = 16;
/// Event kind: a commit that nobody waits for has ended.
pub const KABI_EVENT_COMMIT: u32 = 32;
/// Event kind: the client needs a token for SASL/OAUTHBEARER: answer by kabi_producer_token_set() or
/// kabi_consumer_token_set(), or the calls that say it failed. The text is the value of the property
/// sasl.oauthbearer.config. It comes when the client is made and each time 80 % of a token's life are
/// over, with sasl.mechanisms=OAUTHBEARER, unless enable.sasl.oauthbearer.unsecure.jwt=true or
/// sasl.oauthbearer.method=oidc has librdkafka see to it (the latter needs a library that was built with
/// curl).
pub const KABI_EVENT_TOKEN: u32 = 64;
/// Event kind: a request begun by kabi_admin_start() has ended. Exactly one comes for each.
pub const KABI_EVENT_REQUEST: u32 = 128;
/// Event kind: a broker slows the client down because of a quota. The text is the broker's name, `token`
/// its id, `latency_us` for how long; 0 says that it has ended. Of several for one broker the latest is
/// kept.
pub const KABI_EVENT_THROTTLE: u32 = 256;
/// The event kinds that are queued unless kabi_config_events() says otherwise.
pub const KABI_EVENT_DEFAULT: u32 = KABI_EVENT_REPORT
    | KABI_EVENT_ERROR
    | KABI_EVENT_STATISTICS
    | KABI_EVENT_TOKEN
    | KABI_EVENT_REQUEST;

/// A failed record was never written by a broker: sending it again makes no duplicate.
pub const KABI_PERSISTED_NO: i32 = 0;
/// A failed record may have been written by a broker: sending it again may make a duplicate.
pub const KABI_PERSISTED_POSSIBLY: i32 = 1;
/// The record was written and acknowledged as the acks property asks.
pub const KABI_PERSISTED_YES: i32 = 2;

/// A log line's context: it comes because of "generic" in the property debug.
pub const KABI_DEBUG_GENERIC: u32 = 1;
/// A log line's context: it comes because of "broker" in the property debug.
pub const KABI_DEBUG_BROKER: u32 = 2;
/// A log line's context: it comes because of "topic" in the property debug.
pub const KABI_DEBUG_TOPIC: u32 = 4;
/// A log line's context: it comes because of "metadata" in the property debug.
pub const KABI_DEBUG_METADATA: u32 = 8;
/// A log line's context: it comes because of "feature" in the property debug.
pub const KABI_DEBUG_FEATURE: u32 = 16;
/// A log line's context: it comes because of "queue" in the property debug.
pub const KABI_DEBUG_QUEUE: u32 = 32;
/// A log line's context: it comes because of "msg" in the property debug.
pub const KABI_DEBUG_MSG: u32 = 64;
/// A log line's context: it comes because of "protocol" in the property debug.
pub const KABI_DEBUG_PROTOCOL: u32 = 128;
/// A log line's context: it comes because of "cgrp" in the property debug.
pub const KABI_DEBUG_CGRP: u32 = 256;
/// A log line's context: it comes because of "security" in the property debug.
pub const KABI_DEBUG_SECURITY: u32 = 512;
/// A log line's context: it comes because of "fetch" in the property debug.
pub const KABI_DEBUG_FETCH: u32 = 1024;
/// A log line's context: it comes because of "interceptor" in the property debug.
pub const KABI_DEBUG_INTERCEPTOR: u32 = 2048;
/// A log line's context: it comes because of "plugin" in the property debug.
pub const KABI_DEBUG_PLUGIN: u32 = 4096;
/// A log line's context: it comes because of "consumer" in the property debug.
pub const KABI_DEBUG_CONSUMER: u32 = 8192;
/// A log line's context: it comes because of "admin" in the property debug.
pub const KABI_DEBUG_ADMIN: u32 = 16384;
/// A log line's context: it comes because of "eos" in the property debug.
pub const KABI_DEBUG_EOS: u32 = 32768;
/// A log line's context: it comes because of "mock" in the property debug.
pub const KABI_DEBUG_MOCK: u32 = 65536;

/// One event, drained or handed to a handler.
///
/// Which fields apply depends on the kind; the others hold -1 (topic, partition, timestamp,
/// latency_us), KABI_OFFSET_INVALID (offset) or 0 (all else).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct kabi_event_t {
    /// What happened: exactly one KABI_EVENT_* bit. Skip kinds that you do not know.
    pub kind: u32,
    /// REPORT, ERROR, COMMIT and REQUEST: a KABI_STATUS_* number, 0 for success. LOG: the syslog level,
    /// 0 (emergency) to 7 (debug). ASSIGNMENT: a KABI_ASSIGNMENT_* number.
    pub code: i32,
    /// REPORT: the token that the record was sent with. ASSIGNMENT: the generation that begins, as in
    /// kabi_batch_info_t. COMMIT: the number from kabi_consumer_commit_async(). REQUEST: the request's
    /// number. THROTTLE: the broker's id. LOG: the KABI_DEBUG_* bits of the contexts that the line belongs
    /// to, 0 for a line that comes without the property debug too (and for its newer words).
    pub token: u64,
    /// REPORT: the record's offset in its partition, or KABI_OFFSET_INVALID if it is not known.
    pub offset: i64,
    /// Milliseconds since 1970-01-01 UTC. REPORT: the record's timestamp, or -1. ERROR and LOG:
    /// when it was noticed.
    pub timestamp: i64,
    /// REPORT: the topic number from kabi_producer_topic().
    pub topic: i32,
    /// REPORT: the partition, or -1 if none was chosen before the record failed.
    pub partition: i32,
    /// REPORT: whether a broker has written the record, a KABI_PERSISTED_* number.
    pub persisted: i32,
    /// REPORT, ERROR and REQUEST: KABI_ERROR_* flags, or-ed together.
    pub flags: u32,
    /// REPORT: microseconds from send to acknowledgement, or -1 unless the property
    /// kafkabi.report.latency is true. THROTTLE: for how many microseconds.
    pub latency_us: i64,
    /// ERROR and LOG: how many happenings this event stands for. More than 1 means that equal
    /// errors were merged, or that older log lines were dropped before this one.
    pub count: u64,
    /// All but REPORT: where the text starts in the bytes that came with the event; for REQUEST it is the
    /// answer, a JSON document. The text is UTF-8 and followed by a NUL.
    pub text_offset: u64,
    /// All but REPORT: the text's length in bytes, without the NUL.
    pub text_length: u64,
    /// ASSIGNMENT and COMMIT: where the array of kabi_partition_t starts in the bytes that came with
    /// the event, a multiple of 8. Their metadata is not told.
    pub data_offset: u64,
    /// ASSIGNMENT and COMMIT: how many partitions there are.
    pub data_count: u64,
}

layout!(kabi_event_t: 96 {
    kind: 0,
    code: 4,
    token: 8,
    offset: 16,
    timestamp: 24,
    topic: 32,
    partition: 36,
    persisted: 40,
    flags: 44,
    latency_us: 48,
    count: 56,
    text_offset: 64,
    text_length: 72,
    data_offset: 80,
    data_count: 88,
});

impl Default for kabi_event_t {
    fn default() -> Self {
        Self {
            kind: 0,
            code: 0,
            token: 0,
            offset: KABI_OFFSET_INVALID,
            timestamp: -1,
            topic: -1,
            partition: -1,
            persisted: KABI_PERSISTED_NO,
            flags: 0,
            latency_us: -1,
            count: 0,
            text_offset: 0,
            text_length: 0,
            data_offset: 0,
            data_count: 0,
        }
    }
}

/// A function of the program's that is handed events by kabi_producer_poll() and its like.
///
/// It runs on the thread that polls, inside that call. `events` holds `count` (at least 1) events
/// of one kind; their texts are in `bytes` at text_offset. Both are valid only during the call.
/// `user` is the pointer given to kabi_config_handler(). It returns 0 to go on; another number
/// ends the poll with KABI_STATUS_CALLBACK_FAILED, and events that were not handed over yet stay
/// queued. It may call kafkabi: what would deadlock there gives KABI_STATUS_REENTERED. It must
/// return normally: no exception, longjmp or other unwinding may pass through kafkabi.
///
/// @nullable bytes
pub type kabi_event_handler_t = Option<
    unsafe extern "C" fn(
        events: *const kabi_event_t,
        count: usize,
        bytes: *const u8,
        user: *mut c_void,
    ) -> i32,
>;

/// A function of the program's that releases the user pointer of a handler.
///
/// It runs exactly once, when kafkabi is done with `user`: on the thread that frees the last
/// object which holds it, or at the end of a poll that is still running then. Never on a thread
/// of kafkabi's own.
pub type kabi_finalizer_t = Option<unsafe extern "C" fn(user: *mut c_void)>;
