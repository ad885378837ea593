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

/// A broker of the embedded cluster: all of them.
pub const KABI_BROKER_ALL: i32 = -1;
