//! The codes that librdkafka raises inside this process, -199 to -2.
//!
//! Names are rd_kafka_err2name's without the leading underscore, doc lines rd_kafka_err2str's texts.
//! No local and broker name are the same without it; should a later librdkafka make two collide,
//! the local one gets the prefix LOCAL_. A test compares this list with the linked librdkafka's.

/// Local: Bad message format
pub const KABI_STATUS_BAD_MSG: i32 = -199;
/// Local: Invalid compressed data
pub const KABI_STATUS_BAD_COMPRESSION: i32 = -198;
/// Local: Broker handle destroyed for termination
pub const KABI_STATUS_DESTROY: i32 = -197;
/// Local: Communication failure with broker
pub const KABI_STATUS_FAIL: i32 = -196;
/// Local: Broker transport failure
pub const KABI_STATUS_TRANSPORT: i32 = -195;
/// Local: Critical system resource failure
pub const KABI_STATUS_CRIT_SYS_RESOURCE: i32 = -194;
/// Local: Host resolution failure
pub const KABI_STATUS_RESOLVE: i32 = -193;
/// Local: Message timed out
pub const KABI_STATUS_MSG_TIMED_OUT: i32 = -192;
/// Broker: No more messages
pub const KABI_STATUS_PARTITION_EOF: i32 = -191;
/// Local: Unknown partition
pub const KABI_STATUS_UNKNOWN_PARTITION: i32 = -190;
/// Local: File or filesystem error
pub const KABI_STATUS_FS: i32 = -189;
/// Local: Unknown topic
pub const KABI_STATUS_UNKNOWN_TOPIC: i32 = -188;
/// Local: All broker connections are down
pub const KABI_STATUS_ALL_BROKERS_DOWN: i32 = -187;
/// Local: Invalid argument or configuration
pub const KABI_STATUS_INVALID_ARG: i32 = -186;
/// Local: Timed out
pub const KABI_STATUS_TIMED_OUT: i32 = -185;
/// Local: Queue full
pub const KABI_STATUS_QUEUE_FULL: i32 = -184;
/// Local: ISR count insufficient
pub const KABI_STATUS_ISR_INSUFF: i32 = -183;
/// Local: Broker node update
pub const KABI_STATUS_NODE_UPDATE: i32 = -182;
/// Local: SSL error
pub const KABI_STATUS_SSL: i32 = -181;
/// Local: Waiting for coordinator
pub const KABI_STATUS_WAIT_COORD: i32 = -180;
/// Local: Unknown group
pub const KABI_STATUS_UNKNOWN_GROUP: i32 = -179;
/// Local: Operation in progress
pub const KABI_STATUS_IN_PROGRESS: i32 = -178;
/// Local: Previous operation in progress
pub const KABI_STATUS_PREV_IN_PROGRESS: i32 = -177;
/// Local: Existing subscription
pub const KABI_STATUS_EXISTING_SUBSCRIPTION: i32 = -176;
/// Local: Assign partitions
pub const KABI_STATUS_ASSIGN_PARTITIONS: i32 = -175;
/// Local: Revoke partitions
pub const KABI_STATUS_REVOKE_PARTITIONS: i32 = -174;
/// Local: Conflicting use
pub const KABI_STATUS_CONFLICT: i32 = -173;
/// Local: Erroneous state
pub const KABI_STATUS_STATE: i32 = -172;
/// Local: Unknown protocol
pub const KABI_STATUS_UNKNOWN_PROTOCOL: i32 = -171;
/// Local: Not implemented
pub const KABI_STATUS_NOT_IMPLEMENTED: i32 = -170;
/// Local: Authentication failure
pub const KABI_STATUS_AUTHENTICATION: i32 = -169;
/// Local: No offset stored
pub const KABI_STATUS_NO_OFFSET: i32 = -168;
/// Local: Outdated
pub const KABI_STATUS_OUTDATED: i32 = -167;
/// Local: Timed out in queue
pub const KABI_STATUS_TIMED_OUT_QUEUE: i32 = -166;
/// Local: Required feature not supported by broker
pub const KABI_STATUS_UNSUPPORTED_FEATURE: i32 = -165;
/// Local: Awaiting cache update
pub const KABI_STATUS_WAIT_CACHE: i32 = -164;
/// Local: Operation interrupted
pub const KABI_STATUS_INTR: i32 = -163;
/// Local: Key serialization error
pub const KABI_STATUS_KEY_SERIALIZATION: i32 = -162;
/// Local: Value serialization error
pub const KABI_STATUS_VALUE_SERIALIZATION: i32 = -161;
/// Local: Key deserialization error
pub const KABI_STATUS_KEY_DESERIALIZATION: i32 = -160;
/// Local: Value deserialization error
pub const KABI_STATUS_VALUE_DESERIALIZATION: i32 = -159;
/// Local: Partial response
pub const KABI_STATUS_PARTIAL: i32 = -158;
/// Local: Read-only object
pub const KABI_STATUS_READ_ONLY: i32 = -157;
/// Local: No such entry
pub const KABI_STATUS_NOENT: i32 = -156;
/// Local: Read underflow
pub const KABI_STATUS_UNDERFLOW: i32 = -155;
/// Local: Invalid type
pub const KABI_STATUS_INVALID_TYPE: i32 = -154;
/// Local: Retry operation
pub const KABI_STATUS_RETRY: i32 = -153;
/// Local: Purged in queue
pub const KABI_STATUS_PURGE_QUEUE: i32 = -152;
/// Local: Purged in flight
pub const KABI_STATUS_PURGE_INFLIGHT: i32 = -151;
/// Local: Fatal error
pub const KABI_STATUS_FATAL: i32 = -150;
/// Local: Inconsistent state
pub const KABI_STATUS_INCONSISTENT: i32 = -149;
/// Local: Gap-less ordering would not be guaranteed if proceeding
pub const KABI_STATUS_GAPLESS_GUARANTEE: i32 = -148;
/// Local: Maximum application poll interval (max.poll.interval.ms) exceeded
pub const KABI_STATUS_MAX_POLL_EXCEEDED: i32 = -147;
/// Local: Unknown broker
pub const KABI_STATUS_UNKNOWN_BROKER: i32 = -146;
/// Local: Functionality not configured
pub const KABI_STATUS_NOT_CONFIGURED: i32 = -145;
/// Local: This instance has been fenced by a newer instance
pub const KABI_STATUS_FENCED: i32 = -144;
/// Local: Application generated error
pub const KABI_STATUS_APPLICATION: i32 = -143;
/// Local: Group partition assignment lost
pub const KABI_STATUS_ASSIGNMENT_LOST: i32 = -142;
/// Local: No operation performed
pub const KABI_STATUS_NOOP: i32 = -141;
/// Local: No offset to automatically reset to
pub const KABI_STATUS_AUTO_OFFSET_RESET: i32 = -140;
/// Local: Partition log truncation detected
pub const KABI_STATUS_LOG_TRUNCATION: i32 = -139;
/// Local: an invalid record in the same batch caused the failure of this message too
pub const KABI_STATUS_INVALID_DIFFERENT_RECORD: i32 = -138;
/// Local: Broker handle destroyed without termination
pub const KABI_STATUS_DESTROY_BROKER: i32 = -137;
