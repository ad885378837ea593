//! Numbers that choose what a call works on: what is purged, and what the embedded cluster does.

/// What kabi_producer_purge() drops: records that wait in the producer. They were not sent.
pub const KABI_PURGE_QUEUED: u32 = 1;
/// What kabi_producer_purge() drops: records sent and not acknowledged yet. Brokers may have
/// written them.
pub const KABI_PURGE_IN_FLIGHT: u32 = 2;

/// Where the outcome of kabi_admin_start() goes: into a KABI_EVENT_REQUEST event.
pub const KABI_OUTCOME_EVENT: u32 = 0;
/// Where the outcome of kabi_admin_start() goes: it is kept until kabi_admin_result() fetches it or
/// kabi_admin_discard() drops it.
pub const KABI_OUTCOME_KEPT: u32 = 1;

/// Kafka's request kind Produce, for kabi_cluster_inject_errors(): records are written.
pub const KABI_REQUEST_PRODUCE: i32 = 0;
/// Kafka's request kind Fetch: records are read.
pub const KABI_REQUEST_FETCH: i32 = 1;
/// Kafka's request kind ListOffsets: first, last and by-time offsets are looked up.
pub const KABI_REQUEST_LIST_OFFSETS: i32 = 2;
/// Kafka's request kind Metadata: brokers, topics and leaders are looked up.
pub const KABI_REQUEST_METADATA: i32 = 3;
/// Kafka's request kind OffsetCommit: a group's offsets are committed.
pub const KABI_REQUEST_OFFSET_COMMIT: i32 = 8;
/// Kafka's request kind OffsetFetch: a group's committed offsets are read.
pub const KABI_REQUEST_OFFSET_FETCH: i32 = 9;
/// Kafka's request kind FindCoordinator: the broker that keeps a group or a transaction.
pub const KABI_REQUEST_FIND_COORDINATOR: i32 = 10;
/// Kafka's request kind JoinGroup: a consumer joins a group.
pub const KABI_REQUEST_JOIN_GROUP: i32 = 11;
/// Kafka's request kind Heartbeat: a consumer says that it is alive.
pub const KABI_REQUEST_HEARTBEAT: i32 = 12;
/// Kafka's request kind LeaveGroup: a consumer leaves a group.
pub const KABI_REQUEST_LEAVE_GROUP: i32 = 13;
/// Kafka's request kind SyncGroup: the members of a group get their partitions.
pub const KABI_REQUEST_SYNC_GROUP: i32 = 14;
/// Kafka's request kind InitProducerId: an idempotent or transactional producer starts.
pub const KABI_REQUEST_INIT_PRODUCER_ID: i32 = 22;
/// Kafka's request kind ApiVersions: a client asks what a broker understands, first of all.
pub const KABI_REQUEST_API_VERSIONS: i32 = 18;
/// Kafka's request kind OffsetForLeaderEpoch: a consumer checks that the log was not cut off.
pub const KABI_REQUEST_OFFSET_FOR_LEADER_EPOCH: i32 = 23;
/// Kafka's request kind AddPartitionsToTxn: a transaction writes to further partitions.
pub const KABI_REQUEST_ADD_PARTITIONS_TO_TXN: i32 = 24;
/// Kafka's request kind AddOffsetsToTxn: a transaction will commit a group's offsets.
pub const KABI_REQUEST_ADD_OFFSETS_TO_TXN: i32 = 25;
/// Kafka's request kind EndTxn: a transaction commits or aborts.
pub const KABI_REQUEST_END_TXN: i32 = 26;
/// Kafka's request kind TxnOffsetCommit: a transaction commits a group's offsets.
pub const KABI_REQUEST_TXN_OFFSET_COMMIT: i32 = 28;
/// Kafka's request kind ConsumerGroupHeartbeat: a member of a group by group.protocol=consumer joins,
/// says that it is alive, and gets its partitions.
pub const KABI_REQUEST_CONSUMER_GROUP_HEARTBEAT: i32 = 68;
/// Kafka's request kind GetTelemetrySubscriptions: a client asks which metrics a broker wants.
pub const KABI_REQUEST_GET_TELEMETRY_SUBSCRIPTIONS: i32 = 71;
/// Kafka's request kind PushTelemetry: a client sends its metrics.
pub const KABI_REQUEST_PUSH_TELEMETRY: i32 = 72;

/// A broker of the embedded cluster: all of them.
pub const KABI_BROKER_ALL: i32 = -1;
/// No broker: for kabi_cluster_leader() and kabi_cluster_follower().
pub const KABI_BROKER_NONE: i32 = -2;

/// A coordinator that kabi_cluster_coordinator() sets: of a consumer group.
pub const KABI_COORDINATOR_GROUP: i32 = 0;
/// A coordinator that kabi_cluster_coordinator() sets: of a transactional id.
pub const KABI_COORDINATOR_TRANSACTION: i32 = 1;

/// A request that a broker of the embedded cluster received.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct kabi_request_t {
    /// When, in microseconds of the monotonic clock (CLOCK_MONOTONIC).
    pub time_us: i64,
    /// The broker's id.
    pub broker: i32,
    /// A KABI_REQUEST_* number.
    pub request: i32,
    /// Is 0.
    pub reserved: u64,
}

layout!(kabi_request_t: 24 {
    time_us: 0,
    broker: 8,
    request: 12,
    reserved: 16,
});
