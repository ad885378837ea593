//! The codes that brokers answer with: Kafka's own numbers, and -1 for an error unknown to them.
//!
//! Names are rd_kafka_err2name's, doc lines rd_kafka_err2str's texts; a test compares this list
//! with the linked librdkafka's.

/// Unknown broker error
pub const KABI_STATUS_UNKNOWN: i32 = -1;
/// Broker: Offset out of range
pub const KABI_STATUS_OFFSET_OUT_OF_RANGE: i32 = 1;
/// Broker: Invalid message
pub const KABI_STATUS_INVALID_MSG: i32 = 2;
/// Broker: Unknown topic or partition
pub const KABI_STATUS_UNKNOWN_TOPIC_OR_PART: i32 = 3;
/// Broker: Invalid message size
pub const KABI_STATUS_INVALID_MSG_SIZE: i32 = 4;
/// Broker: Leader not available
pub const KABI_STATUS_LEADER_NOT_AVAILABLE: i32 = 5;
/// Broker: Not leader for partition
pub const KABI_STATUS_NOT_LEADER_FOR_PARTITION: i32 = 6;
/// Broker: Request timed out
pub const KABI_STATUS_REQUEST_TIMED_OUT: i32 = 7;
/// Broker: Broker not available
pub const KABI_STATUS_BROKER_NOT_AVAILABLE: i32 = 8;
/// Broker: Replica not available
pub const KABI_STATUS_REPLICA_NOT_AVAILABLE: i32 = 9;
/// Broker: Message size too large
pub const KABI_STATUS_MSG_SIZE_TOO_LARGE: i32 = 10;
/// Broker: StaleControllerEpochCode
pub const KABI_STATUS_STALE_CTRL_EPOCH: i32 = 11;
/// Broker: Offset metadata string too large
pub const KABI_STATUS_OFFSET_METADATA_TOO_LARGE: i32 = 12;
/// Broker: Broker disconnected before response received
pub const KABI_STATUS_NETWORK_EXCEPTION: i32 = 13;
/// Broker: Coordinator load in progress
pub const KABI_STATUS_COORDINATOR_LOAD_IN_PROGRESS: i32 = 14;
/// Broker: Coordinator not available
pub const KABI_STATUS_COORDINATOR_NOT_AVAILABLE: i32 = 15;
/// Broker: Not coordinator
pub const KABI_STATUS_NOT_COORDINATOR: i32 = 16;
/// Broker: Invalid topic
pub const KABI_STATUS_TOPIC_EXCEPTION: i32 = 17;
/// Broker: Message batch larger than configured server segment size
pub const KABI_STATUS_RECORD_LIST_TOO_LARGE: i32 = 18;
/// Broker: Not enough in-sync replicas
pub const KABI_STATUS_NOT_ENOUGH_REPLICAS: i32 = 19;
/// Broker: Message(s) written to insufficient number of in-sync replicas
pub const KABI_STATUS_NOT_ENOUGH_REPLICAS_AFTER_APPEND: i32 = 20;
/// Broker: Invalid required acks value
pub const KABI_STATUS_INVALID_REQUIRED_ACKS: i32 = 21;
/// Broker: Specified group generation id is not valid
pub const KABI_STATUS_ILLEGAL_GENERATION: i32 = 22;
/// Broker: Inconsistent group protocol
pub const KABI_STATUS_INCONSISTENT_GROUP_PROTOCOL: i32 = 23;
/// Broker: Invalid group.id
pub const KABI_STATUS_INVALID_GROUP_ID: i32 = 24;
/// Broker: Unknown member
pub const KABI_STATUS_UNKNOWN_MEMBER_ID: i32 = 25;
/// Broker: Invalid session timeout
pub const KABI_STATUS_INVALID_SESSION_TIMEOUT: i32 = 26;
/// Broker: Group rebalance in progress
pub const KABI_STATUS_REBALANCE_IN_PROGRESS: i32 = 27;
/// Broker: Commit offset data size is not valid
pub const KABI_STATUS_INVALID_COMMIT_OFFSET_SIZE: i32 = 28;
/// Broker: Topic authorization failed
pub const KABI_STATUS_TOPIC_AUTHORIZATION_FAILED: i32 = 29;
/// Broker: Group authorization failed
pub const KABI_STATUS_GROUP_AUTHORIZATION_FAILED: i32 = 30;
/// Broker: Cluster authorization failed
pub const KABI_STATUS_CLUSTER_AUTHORIZATION_FAILED: i32 = 31;
/// Broker: Invalid timestamp
pub const KABI_STATUS_INVALID_TIMESTAMP: i32 = 32;
/// Broker: Unsupported SASL mechanism
pub const KABI_STATUS_UNSUPPORTED_SASL_MECHANISM: i32 = 33;
/// Broker: Request not valid in current SASL state
pub const KABI_STATUS_ILLEGAL_SASL_STATE: i32 = 34;
/// Broker: API version not supported
pub const KABI_STATUS_UNSUPPORTED_VERSION: i32 = 35;
/// Broker: Topic already exists
pub const KABI_STATUS_TOPIC_ALREADY_EXISTS: i32 = 36;
/// Broker: Invalid number of partitions
pub const KABI_STATUS_INVALID_PARTITIONS: i32 = 37;
/// Broker: Invalid replication factor
pub const KABI_STATUS_INVALID_REPLICATION_FACTOR: i32 = 38;
/// Broker: Invalid replica assignment
pub const KABI_STATUS_INVALID_REPLICA_ASSIGNMENT: i32 = 39;
/// Broker: Configuration is invalid
pub const KABI_STATUS_INVALID_CONFIG: i32 = 40;
/// Broker: Not controller for cluster
pub const KABI_STATUS_NOT_CONTROLLER: i32 = 41;
/// Broker: Invalid request
pub const KABI_STATUS_INVALID_REQUEST: i32 = 42;
/// Broker: Message format on broker does not support request
pub const KABI_STATUS_UNSUPPORTED_FOR_MESSAGE_FORMAT: i32 = 43;
/// Broker: Policy violation
pub const KABI_STATUS_POLICY_VIOLATION: i32 = 44;
/// Broker: Broker received an out of order sequence number
pub const KABI_STATUS_OUT_OF_ORDER_SEQUENCE_NUMBER: i32 = 45;
/// Broker: Broker received a duplicate sequence number
pub const KABI_STATUS_DUPLICATE_SEQUENCE_NUMBER: i32 = 46;
/// Broker: Producer attempted an operation with an old epoch
pub const KABI_STATUS_INVALID_PRODUCER_EPOCH: i32 = 47;
/// Broker: Producer attempted a transactional operation in an invalid state
pub const KABI_STATUS_INVALID_TXN_STATE: i32 = 48;
/// Broker: Producer attempted to use a producer id which is not currently assigned to its
/// transactional id
pub const KABI_STATUS_INVALID_PRODUCER_ID_MAPPING: i32 = 49;
/// Broker: Transaction timeout is larger than the maximum value allowed by the broker's
/// max.transaction.timeout.ms
pub const KABI_STATUS_INVALID_TRANSACTION_TIMEOUT: i32 = 50;
/// Broker: Producer attempted to update a transaction while another concurrent operation on the
/// same transaction was ongoing
pub const KABI_STATUS_CONCURRENT_TRANSACTIONS: i32 = 51;
/// Broker: Indicates that the transaction coordinator sending a WriteTxnMarker is no longer the
/// current coordinator for a given producer
pub const KABI_STATUS_TRANSACTION_COORDINATOR_FENCED: i32 = 52;
/// Broker: Transactional Id authorization failed
pub const KABI_STATUS_TRANSACTIONAL_ID_AUTHORIZATION_FAILED: i32 = 53;
/// Broker: Security features are disabled
pub const KABI_STATUS_SECURITY_DISABLED: i32 = 54;
/// Broker: Operation not attempted
pub const KABI_STATUS_OPERATION_NOT_ATTEMPTED: i32 = 55;
/// Broker: Disk error when trying to access log file on disk
pub const KABI_STATUS_KAFKA_STORAGE_ERROR: i32 = 56;
/// Broker: The user-specified log directory is not found in the broker config
pub const KABI_STATUS_LOG_DIR_NOT_FOUND: i32 = 57;
/// Broker: SASL Authentication failed
pub const KABI_STATUS_SASL_AUTHENTICATION_FAILED: i32 = 58;
/// Broker: Unknown Producer Id
pub const KABI_STATUS_UNKNOWN_PRODUCER_ID: i32 = 59;
/// Broker: Partition reassignment is in progress
pub const KABI_STATUS_REASSIGNMENT_IN_PROGRESS: i32 = 60;
/// Broker: Delegation Token feature is not enabled
pub const KABI_STATUS_DELEGATION_TOKEN_AUTH_DISABLED: i32 = 61;
/// Broker: Delegation Token is not found on server
pub const KABI_STATUS_DELEGATION_TOKEN_NOT_FOUND: i32 = 62;
/// Broker: Specified Principal is not valid Owner/Renewer
pub const KABI_STATUS_DELEGATION_TOKEN_OWNER_MISMATCH: i32 = 63;
/// Broker: Delegation Token requests are not allowed on this connection
pub const KABI_STATUS_DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: i32 = 64;
/// Broker: Delegation Token authorization failed
pub const KABI_STATUS_DELEGATION_TOKEN_AUTHORIZATION_FAILED: i32 = 65;
/// Broker: Delegation Token is expired
pub const KABI_STATUS_DELEGATION_TOKEN_EXPIRED: i32 = 66;
/// Broker: Supplied principalType is not supported
pub const KABI_STATUS_INVALID_PRINCIPAL_TYPE: i32 = 67;
/// Broker: The group is not empty
pub const KABI_STATUS_NON_EMPTY_GROUP: i32 = 68;
/// Broker: The group id does not exist
pub const KABI_STATUS_GROUP_ID_NOT_FOUND: i32 = 69;
/// Broker: The fetch session ID was not found
pub const KABI_STATUS_FETCH_SESSION_ID_NOT_FOUND: i32 = 70;
/// Broker: The fetch session epoch is invalid
pub const KABI_STATUS_INVALID_FETCH_SESSION_EPOCH: i32 = 71;
/// Broker: No matching listener
pub const KABI_STATUS_LISTENER_NOT_FOUND: i32 = 72;
/// Broker: Topic deletion is disabled
pub const KABI_STATUS_TOPIC_DELETION_DISABLED: i32 = 73;
/// Broker: Leader epoch is older than broker epoch
pub const KABI_STATUS_FENCED_LEADER_EPOCH: i32 = 74;
/// Broker: Leader epoch is newer than broker epoch
pub const KABI_STATUS_UNKNOWN_LEADER_EPOCH: i32 = 75;
/// Broker: Unsupported compression type
pub const KABI_STATUS_UNSUPPORTED_COMPRESSION_TYPE: i32 = 76;
/// Broker: Broker epoch has changed
pub const KABI_STATUS_STALE_BROKER_EPOCH: i32 = 77;
/// Broker: Leader high watermark is not caught up
pub const KABI_STATUS_OFFSET_NOT_AVAILABLE: i32 = 78;
/// Broker: Group member needs a valid member ID
pub const KABI_STATUS_MEMBER_ID_REQUIRED: i32 = 79;
/// Broker: Preferred leader was not available
pub const KABI_STATUS_PREFERRED_LEADER_NOT_AVAILABLE: i32 = 80;
/// Broker: Consumer group has reached maximum size
pub const KABI_STATUS_GROUP_MAX_SIZE_REACHED: i32 = 81;
/// Broker: Static consumer fenced by other consumer with same group.instance.id
pub const KABI_STATUS_FENCED_INSTANCE_ID: i32 = 82;
/// Broker: Eligible partition leaders are not available
pub const KABI_STATUS_ELIGIBLE_LEADERS_NOT_AVAILABLE: i32 = 83;
/// Broker: Leader election not needed for topic partition
pub const KABI_STATUS_ELECTION_NOT_NEEDED: i32 = 84;
/// Broker: No partition reassignment is in progress
pub const KABI_STATUS_NO_REASSIGNMENT_IN_PROGRESS: i32 = 85;
/// Broker: Deleting offsets of a topic while the consumer group is subscribed to it
pub const KABI_STATUS_GROUP_SUBSCRIBED_TO_TOPIC: i32 = 86;
/// Broker: Broker failed to validate record
pub const KABI_STATUS_INVALID_RECORD: i32 = 87;
/// Broker: There are unstable offsets that need to be cleared
pub const KABI_STATUS_UNSTABLE_OFFSET_COMMIT: i32 = 88;
/// Broker: Throttling quota has been exceeded
pub const KABI_STATUS_THROTTLING_QUOTA_EXCEEDED: i32 = 89;
/// Broker: There is a newer producer with the same transactionalId which fences the current one
pub const KABI_STATUS_PRODUCER_FENCED: i32 = 90;
/// Broker: Request illegally referred to resource that does not exist
pub const KABI_STATUS_RESOURCE_NOT_FOUND: i32 = 91;
/// Broker: Request illegally referred to the same resource twice
pub const KABI_STATUS_DUPLICATE_RESOURCE: i32 = 92;
/// Broker: Requested credential would not meet criteria for acceptability
pub const KABI_STATUS_UNACCEPTABLE_CREDENTIAL: i32 = 93;
/// Broker: Indicates that the either the sender or recipient of a voter-only request is not one of
/// the expected voters
pub const KABI_STATUS_INCONSISTENT_VOTER_SET: i32 = 94;
/// Broker: Invalid update version
pub const KABI_STATUS_INVALID_UPDATE_VERSION: i32 = 95;
/// Broker: Unable to update finalized features due to server error
pub const KABI_STATUS_FEATURE_UPDATE_FAILED: i32 = 96;
/// Broker: Request principal deserialization failed during forwarding
pub const KABI_STATUS_PRINCIPAL_DESERIALIZATION_FAILURE: i32 = 97;
/// Broker: Unknown topic id
pub const KABI_STATUS_UNKNOWN_TOPIC_ID: i32 = 100;
/// Broker: The member epoch is fenced by the group coordinator
pub const KABI_STATUS_FENCED_MEMBER_EPOCH: i32 = 110;
/// Broker: The instance ID is still used by another member in the consumer group
pub const KABI_STATUS_UNRELEASED_INSTANCE_ID: i32 = 111;
/// Broker: The assignor or its version range is not supported by the consumer group
pub const KABI_STATUS_UNSUPPORTED_ASSIGNOR: i32 = 112;
/// Broker: The member epoch is stale
pub const KABI_STATUS_STALE_MEMBER_EPOCH: i32 = 113;
/// Broker: Client sent a push telemetry request with an invalid or outdated subscription ID
pub const KABI_STATUS_UNKNOWN_SUBSCRIPTION_ID: i32 = 117;
/// Broker: Client sent a push telemetry request larger than the maximum size the broker will
/// accept
pub const KABI_STATUS_TELEMETRY_TOO_LARGE: i32 = 118;
/// Broker: Client metadata is stale, client should rebootstrap to obtain new metadata
pub const KABI_STATUS_REBOOTSTRAP_REQUIRED: i32 = 129;
