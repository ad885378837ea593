package org.kafkabi;

import static org.kafkabi.lowlevel.Constants.KABI_STATUS_ALL_BROKERS_DOWN;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_ARGUMENT;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_ASSIGNMENT_LOST;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_AUTHENTICATION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_AUTO_OFFSET_RESET;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_BROKER_NOT_AVAILABLE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_BUSY;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_CLOSED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_CLUSTER_AUTHORIZATION_FAILED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_CONCURRENT_TRANSACTIONS;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_COORDINATOR_LOAD_IN_PROGRESS;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_COORDINATOR_NOT_AVAILABLE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_DUPLICATE_RESOURCE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_ELECTION_NOT_NEEDED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_FENCED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_FENCED_INSTANCE_ID;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_GROUP_AUTHORIZATION_FAILED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_GROUP_ID_NOT_FOUND;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_GROUP_MAX_SIZE_REACHED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_GROUP_SUBSCRIBED_TO_TOPIC;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_HANDLE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_ILLEGAL_GENERATION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INCONSISTENT_GROUP_PROTOCOL;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INTERRUPTED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_ARG;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_CONFIG;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_DIFFERENT_RECORD;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_GROUP_ID;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_MSG;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_PARTITIONS;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_PRODUCER_EPOCH;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_PRODUCER_ID_MAPPING;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_RECORD;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_REPLICATION_FACTOR;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_REPLICA_ASSIGNMENT;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_REQUEST;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_REQUIRED_ACKS;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_SESSION_TIMEOUT;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_TIMESTAMP;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_TRANSACTION_TIMEOUT;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_INVALID_TXN_STATE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_ISR_INSUFF;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_KAFKA_STORAGE_ERROR;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_KEY_DESERIALIZATION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_KEY_SERIALIZATION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_LEADER_NOT_AVAILABLE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_MAX_POLL_EXCEEDED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_MSG_SIZE_TOO_LARGE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_MSG_TIMED_OUT;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_NETWORK_EXCEPTION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_NON_EMPTY_GROUP;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_NOT_CONTROLLER;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_NOT_COORDINATOR;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_NOT_ENOUGH_REPLICAS;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_NOT_ENOUGH_REPLICAS_AFTER_APPEND;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_NOT_LEADER_FOR_PARTITION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_OFFSET_METADATA_TOO_LARGE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_OFFSET_OUT_OF_RANGE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_OUT_OF_ORDER_SEQUENCE_NUMBER;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_POLICY_VIOLATION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_PREFERRED_LEADER_NOT_AVAILABLE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_PRODUCER_FENCED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_PURGE_INFLIGHT;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_PURGE_QUEUE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_QUEUE_FULL;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_REBALANCE_IN_PROGRESS;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_RECORD_LIST_TOO_LARGE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_REENTERED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_REPLICA_NOT_AVAILABLE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_REQUEST_TIMED_OUT;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_RESOLVE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_RESOURCE_NOT_FOUND;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_SASL_AUTHENTICATION_FAILED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_SECURITY_DISABLED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_SSL;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_STATE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_THROTTLING_QUOTA_EXCEEDED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_TIMED_OUT;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_TIMED_OUT_QUEUE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_TOPIC_ALREADY_EXISTS;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_TOPIC_AUTHORIZATION_FAILED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_TOPIC_DELETION_DISABLED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_TOPIC_EXCEPTION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_TRANSACTIONAL_ID_AUTHORIZATION_FAILED;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_TRANSPORT;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNACCEPTABLE_CREDENTIAL;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNKNOWN;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNKNOWN_GROUP;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNKNOWN_MEMBER_ID;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNKNOWN_PARTITION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNKNOWN_PRODUCER_ID;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNKNOWN_TOPIC;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNKNOWN_TOPIC_OR_PART;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNSUPPORTED_ASSIGNOR;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNSUPPORTED_FEATURE;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNSUPPORTED_SASL_MECHANISM;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_UNSUPPORTED_VERSION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_VALUE_DESERIALIZATION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_VALUE_SERIALIZATION;
import static org.kafkabi.lowlevel.Constants.KABI_STATUS_WAIT_COORD;

import java.util.Set;
import org.kafkabi.errors.AuthenticationException;
import org.kafkabi.errors.BrokerNotAvailableException;
import org.kafkabi.errors.BufferExhaustedException;
import org.kafkabi.errors.ClusterAuthorizationException;
import org.kafkabi.errors.CommitFailedException;
import org.kafkabi.errors.ConcurrentTransactionsException;
import org.kafkabi.errors.CoordinatorLoadInProgressException;
import org.kafkabi.errors.CoordinatorNotAvailableException;
import org.kafkabi.errors.CorruptRecordException;
import org.kafkabi.errors.DisconnectException;
import org.kafkabi.errors.DuplicateResourceException;
import org.kafkabi.errors.ElectionNotNeededException;
import org.kafkabi.errors.FencedInstanceIdException;
import org.kafkabi.errors.GroupAuthorizationException;
import org.kafkabi.errors.GroupIdNotFoundException;
import org.kafkabi.errors.GroupMaxSizeReachedException;
import org.kafkabi.errors.GroupNotEmptyException;
import org.kafkabi.errors.GroupSubscribedToTopicException;
import org.kafkabi.errors.IllegalGenerationException;
import org.kafkabi.errors.InconsistentGroupProtocolException;
import org.kafkabi.errors.InvalidConfigurationException;
import org.kafkabi.errors.InvalidGroupIdException;
import org.kafkabi.errors.InvalidPartitionsException;
import org.kafkabi.errors.InvalidPidMappingException;
import org.kafkabi.errors.InvalidProducerEpochException;
import org.kafkabi.errors.InvalidRecordException;
import org.kafkabi.errors.InvalidReplicaAssignmentException;
import org.kafkabi.errors.InvalidReplicationFactorException;
import org.kafkabi.errors.InvalidRequestException;
import org.kafkabi.errors.InvalidRequiredAcksException;
import org.kafkabi.errors.InvalidSessionTimeoutException;
import org.kafkabi.errors.InvalidTimestampException;
import org.kafkabi.errors.InvalidTopicException;
import org.kafkabi.errors.InvalidTxnStateException;
import org.kafkabi.errors.InvalidTxnTimeoutException;
import org.kafkabi.errors.KafkaStorageException;
import org.kafkabi.errors.LeaderNotAvailableException;
import org.kafkabi.errors.NetworkException;
import org.kafkabi.errors.NoOffsetForPartitionException;
import org.kafkabi.errors.NotControllerException;
import org.kafkabi.errors.NotCoordinatorException;
import org.kafkabi.errors.NotEnoughReplicasAfterAppendException;
import org.kafkabi.errors.NotEnoughReplicasException;
import org.kafkabi.errors.NotLeaderOrFollowerException;
import org.kafkabi.errors.OffsetMetadataTooLarge;
import org.kafkabi.errors.OffsetOutOfRangeException;
import org.kafkabi.errors.OutOfOrderSequenceException;
import org.kafkabi.errors.PolicyViolationException;
import org.kafkabi.errors.PreferredLeaderNotAvailableException;
import org.kafkabi.errors.ProducerFencedException;
import org.kafkabi.errors.RebalanceInProgressException;
import org.kafkabi.errors.RecordBatchTooLargeException;
import org.kafkabi.errors.RecordDeserializationException;
import org.kafkabi.errors.RecordTooLargeException;
import org.kafkabi.errors.ReplicaNotAvailableException;
import org.kafkabi.errors.ResourceNotFoundException;
import org.kafkabi.errors.SaslAuthenticationException;
import org.kafkabi.errors.SecurityDisabledException;
import org.kafkabi.errors.SerializationException;
import org.kafkabi.errors.SslAuthenticationException;
import org.kafkabi.errors.ThrottlingQuotaExceededException;
import org.kafkabi.errors.TimeoutException;
import org.kafkabi.errors.TopicAuthorizationException;
import org.kafkabi.errors.TopicDeletionDisabledException;
import org.kafkabi.errors.TopicExistsException;
import org.kafkabi.errors.TransactionAbortedException;
import org.kafkabi.errors.TransactionalIdAuthorizationException;
import org.kafkabi.errors.UnacceptableCredentialException;
import org.kafkabi.errors.UnknownMemberIdException;
import org.kafkabi.errors.UnknownProducerIdException;
import org.kafkabi.errors.UnknownServerException;
import org.kafkabi.errors.UnknownTopicOrPartitionException;
import org.kafkabi.errors.UnsupportedAssignorException;
import org.kafkabi.errors.UnsupportedSaslMechanismException;
import org.kafkabi.errors.UnsupportedVersionException;
import org.kafkabi.errors.WakeupException;
import org.kafkabi.lowlevel.Constants;
import org.kafkabi.lowlevel.Kabi;
import org.kafkabi.lowlevel.Memory;

/** Turns status codes into exceptions: the one place that knows which class a code has. */
final class Failures {
    private Failures() {}

    static String name(int code) {
        return Memory.text(Kabi.functions().kabi_error_name(code));
    }

    /** What a code means, in English. */
    static String text(int code) {
        return Memory.text(Kabi.functions().kabi_error_text(code));
    }

    /** Passing states of the client, and the brokers' codes that Kafka's protocol marks as retriable. */
    private static final Set<Integer> RETRIABLE_CODES = Set.of(
            Constants.KABI_STATUS_TRANSPORT, Constants.KABI_STATUS_WAIT_COORD, Constants.KABI_STATUS_WAIT_CACHE,
            Constants.KABI_STATUS_IN_PROGRESS, Constants.KABI_STATUS_PREV_IN_PROGRESS, Constants.KABI_STATUS_RETRY,
            KABI_STATUS_ALL_BROKERS_DOWN, KABI_STATUS_RESOLVE, KABI_STATUS_BUSY, KABI_STATUS_INTERRUPTED,
            KABI_STATUS_QUEUE_FULL, 2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 80, 83, 84,
            88, 89, 100, 103, 106);

    /** The exception for a failed call: Java's own for misuse, else a KafkaException. */
    static RuntimeException of(int code, int flags, String message) {
        KafkaException failure = failure(code, flags, message);
        return switch (code) {
            case KABI_STATUS_CLOSED, KABI_STATUS_HANDLE ->
                new IllegalStateException("the client is closed", failure);
            case KABI_STATUS_STATE, KABI_STATUS_BUSY, KABI_STATUS_REENTERED ->
                new IllegalStateException(message, failure);
            case KABI_STATUS_ARGUMENT, KABI_STATUS_INVALID_ARG ->
                new IllegalArgumentException(message, failure);
            default -> failure;
        };
    }

    /** The KafkaException for a code, as the outcome of a record or of a partition. */
    static KafkaException failure(int code, int flags, String message) {
        return of(code, flags, message, null);
    }

    /** The KafkaException for a code that came without flags: they are what the code tells of itself. */
    static KafkaException ofItem(int code, String message) {
        boolean timedOut = code == KABI_STATUS_TIMED_OUT || code == KABI_STATUS_TIMED_OUT_QUEUE;
        int flags = timedOut ? KafkaException.RETRIABLE | KafkaException.OUTCOME_UNKNOWN
                : RETRIABLE_CODES.contains(code) ? KafkaException.RETRIABLE : 0;
        return failure(code, flags, message);
    }

    /** The KafkaException for a code that came without a message. */
    static KafkaException failure(int code, int flags) {
        return of(code, flags, text(code), null);
    }

    private static KafkaException of(int code, int flags, String message, Throwable cause) {
        return switch (code) {
            case KABI_STATUS_INTERRUPTED -> new WakeupException(message, code, flags, cause);
            case KABI_STATUS_TIMED_OUT, KABI_STATUS_REQUEST_TIMED_OUT, KABI_STATUS_MSG_TIMED_OUT, KABI_STATUS_TIMED_OUT_QUEUE ->
                new TimeoutException(message, code, flags, cause);
            case KABI_STATUS_QUEUE_FULL -> new BufferExhaustedException(message, code, flags, cause);
            case KABI_STATUS_KEY_SERIALIZATION, KABI_STATUS_VALUE_SERIALIZATION ->
                new SerializationException(message, code, flags, cause);
            case KABI_STATUS_KEY_DESERIALIZATION, KABI_STATUS_VALUE_DESERIALIZATION ->
                new RecordDeserializationException(message, code, flags, cause);
            case KABI_STATUS_TOPIC_AUTHORIZATION_FAILED ->
                new TopicAuthorizationException(message, code, flags, cause);
            case KABI_STATUS_GROUP_AUTHORIZATION_FAILED ->
                new GroupAuthorizationException(message, code, flags, cause);
            case KABI_STATUS_CLUSTER_AUTHORIZATION_FAILED ->
                new ClusterAuthorizationException(message, code, flags, cause);
            case KABI_STATUS_TRANSACTIONAL_ID_AUTHORIZATION_FAILED ->
                new TransactionalIdAuthorizationException(message, code, flags, cause);
            case KABI_STATUS_AUTHENTICATION -> new AuthenticationException(message, code, flags, cause);
            case KABI_STATUS_SASL_AUTHENTICATION_FAILED ->
                new SaslAuthenticationException(message, code, flags, cause);
            case KABI_STATUS_SSL -> new SslAuthenticationException(message, code, flags, cause);
            case KABI_STATUS_UNSUPPORTED_SASL_MECHANISM ->
                new UnsupportedSaslMechanismException(message, code, flags, cause);
            case KABI_STATUS_FENCED, KABI_STATUS_PRODUCER_FENCED ->
                new ProducerFencedException(message, code, flags, cause);
            case KABI_STATUS_INVALID_PRODUCER_EPOCH -> new InvalidProducerEpochException(message, code, flags, cause);
            case KABI_STATUS_FENCED_INSTANCE_ID -> new FencedInstanceIdException(message, code, flags, cause);
            case KABI_STATUS_OUT_OF_ORDER_SEQUENCE_NUMBER ->
                new OutOfOrderSequenceException(message, code, flags, cause);
            case KABI_STATUS_UNKNOWN_PRODUCER_ID -> new UnknownProducerIdException(message, code, flags, cause);
            case KABI_STATUS_INVALID_TXN_STATE -> new InvalidTxnStateException(message, code, flags, cause);
            case KABI_STATUS_INVALID_TRANSACTION_TIMEOUT ->
                new InvalidTxnTimeoutException(message, code, flags, cause);
            case KABI_STATUS_INVALID_PRODUCER_ID_MAPPING ->
                new InvalidPidMappingException(message, code, flags, cause);
            case KABI_STATUS_CONCURRENT_TRANSACTIONS ->
                new ConcurrentTransactionsException(message, code, flags, cause);
            case KABI_STATUS_PURGE_QUEUE, KABI_STATUS_PURGE_INFLIGHT ->
                new TransactionAbortedException(message, code, flags, cause);
            case KABI_STATUS_UNKNOWN_TOPIC_OR_PART, KABI_STATUS_UNKNOWN_TOPIC, KABI_STATUS_UNKNOWN_PARTITION ->
                new UnknownTopicOrPartitionException(message, code, flags, cause);
            case KABI_STATUS_TOPIC_EXCEPTION -> new InvalidTopicException(message, code, flags, cause);
            case KABI_STATUS_TOPIC_ALREADY_EXISTS -> new TopicExistsException(message, code, flags, cause);
            case KABI_STATUS_TOPIC_DELETION_DISABLED ->
                new TopicDeletionDisabledException(message, code, flags, cause);
            case KABI_STATUS_INVALID_PARTITIONS -> new InvalidPartitionsException(message, code, flags, cause);
            case KABI_STATUS_INVALID_REPLICATION_FACTOR ->
                new InvalidReplicationFactorException(message, code, flags, cause);
            case KABI_STATUS_INVALID_REPLICA_ASSIGNMENT ->
                new InvalidReplicaAssignmentException(message, code, flags, cause);
            case KABI_STATUS_INVALID_CONFIG -> new InvalidConfigurationException(message, code, flags, cause);
            case KABI_STATUS_POLICY_VIOLATION -> new PolicyViolationException(message, code, flags, cause);
            case KABI_STATUS_NOT_CONTROLLER -> new NotControllerException(message, code, flags, cause);
            case KABI_STATUS_INVALID_REQUEST -> new InvalidRequestException(message, code, flags, cause);
            case KABI_STATUS_UNSUPPORTED_VERSION, KABI_STATUS_UNSUPPORTED_FEATURE ->
                new UnsupportedVersionException(message, code, flags, cause);
            case KABI_STATUS_MSG_SIZE_TOO_LARGE -> new RecordTooLargeException(message, code, flags, cause);
            case KABI_STATUS_RECORD_LIST_TOO_LARGE -> new RecordBatchTooLargeException(message, code, flags, cause);
            case KABI_STATUS_INVALID_MSG -> new CorruptRecordException(message, code, flags, cause);
            case KABI_STATUS_INVALID_RECORD, KABI_STATUS_INVALID_DIFFERENT_RECORD ->
                new InvalidRecordException(message, code, flags, cause);
            case KABI_STATUS_INVALID_TIMESTAMP -> new InvalidTimestampException(message, code, flags, cause);
            case KABI_STATUS_NOT_LEADER_FOR_PARTITION ->
                new NotLeaderOrFollowerException(message, code, flags, cause);
            case KABI_STATUS_LEADER_NOT_AVAILABLE -> new LeaderNotAvailableException(message, code, flags, cause);
            case KABI_STATUS_BROKER_NOT_AVAILABLE -> new BrokerNotAvailableException(message, code, flags, cause);
            case KABI_STATUS_REPLICA_NOT_AVAILABLE -> new ReplicaNotAvailableException(message, code, flags, cause);
            case KABI_STATUS_NETWORK_EXCEPTION -> new NetworkException(message, code, flags, cause);
            case KABI_STATUS_TRANSPORT, KABI_STATUS_ALL_BROKERS_DOWN, KABI_STATUS_RESOLVE ->
                new DisconnectException(message, code, flags, cause);
            case KABI_STATUS_KAFKA_STORAGE_ERROR -> new KafkaStorageException(message, code, flags, cause);
            case KABI_STATUS_NOT_ENOUGH_REPLICAS, KABI_STATUS_ISR_INSUFF ->
                new NotEnoughReplicasException(message, code, flags, cause);
            case KABI_STATUS_NOT_ENOUGH_REPLICAS_AFTER_APPEND ->
                new NotEnoughReplicasAfterAppendException(message, code, flags, cause);
            case KABI_STATUS_INVALID_REQUIRED_ACKS -> new InvalidRequiredAcksException(message, code, flags, cause);
            case KABI_STATUS_UNKNOWN -> new UnknownServerException(message, code, flags, cause);
            case KABI_STATUS_COORDINATOR_LOAD_IN_PROGRESS ->
                new CoordinatorLoadInProgressException(message, code, flags, cause);
            case KABI_STATUS_COORDINATOR_NOT_AVAILABLE, KABI_STATUS_WAIT_COORD ->
                new CoordinatorNotAvailableException(message, code, flags, cause);
            case KABI_STATUS_NOT_COORDINATOR -> new NotCoordinatorException(message, code, flags, cause);
            case KABI_STATUS_OFFSET_OUT_OF_RANGE -> new OffsetOutOfRangeException(message, code, flags, cause);
            case KABI_STATUS_AUTO_OFFSET_RESET -> new NoOffsetForPartitionException(message, code, flags, cause);
            case KABI_STATUS_OFFSET_METADATA_TOO_LARGE -> new OffsetMetadataTooLarge(message, code, flags, cause);
            case KABI_STATUS_ASSIGNMENT_LOST, KABI_STATUS_MAX_POLL_EXCEEDED ->
                new CommitFailedException(message, code, flags, cause);
            case KABI_STATUS_ILLEGAL_GENERATION -> new IllegalGenerationException(message, code, flags, cause);
            case KABI_STATUS_UNKNOWN_MEMBER_ID -> new UnknownMemberIdException(message, code, flags, cause);
            case KABI_STATUS_REBALANCE_IN_PROGRESS -> new RebalanceInProgressException(message, code, flags, cause);
            case KABI_STATUS_INCONSISTENT_GROUP_PROTOCOL ->
                new InconsistentGroupProtocolException(message, code, flags, cause);
            case KABI_STATUS_INVALID_GROUP_ID, KABI_STATUS_UNKNOWN_GROUP ->
                new InvalidGroupIdException(message, code, flags, cause);
            case KABI_STATUS_INVALID_SESSION_TIMEOUT ->
                new InvalidSessionTimeoutException(message, code, flags, cause);
            case KABI_STATUS_NON_EMPTY_GROUP -> new GroupNotEmptyException(message, code, flags, cause);
            case KABI_STATUS_GROUP_ID_NOT_FOUND -> new GroupIdNotFoundException(message, code, flags, cause);
            case KABI_STATUS_GROUP_SUBSCRIBED_TO_TOPIC ->
                new GroupSubscribedToTopicException(message, code, flags, cause);
            case KABI_STATUS_GROUP_MAX_SIZE_REACHED -> new GroupMaxSizeReachedException(message, code, flags, cause);
            case KABI_STATUS_UNSUPPORTED_ASSIGNOR -> new UnsupportedAssignorException(message, code, flags, cause);
            case KABI_STATUS_SECURITY_DISABLED -> new SecurityDisabledException(message, code, flags, cause);
            case KABI_STATUS_ELECTION_NOT_NEEDED -> new ElectionNotNeededException(message, code, flags, cause);
            case KABI_STATUS_PREFERRED_LEADER_NOT_AVAILABLE ->
                new PreferredLeaderNotAvailableException(message, code, flags, cause);
            case KABI_STATUS_THROTTLING_QUOTA_EXCEEDED ->
                new ThrottlingQuotaExceededException(message, code, flags, cause);
            case KABI_STATUS_RESOURCE_NOT_FOUND -> new ResourceNotFoundException(message, code, flags, cause);
            case KABI_STATUS_DUPLICATE_RESOURCE -> new DuplicateResourceException(message, code, flags, cause);
            case KABI_STATUS_UNACCEPTABLE_CREDENTIAL ->
                new UnacceptableCredentialException(message, code, flags, cause);
            default -> new KafkaException(message, code, flags, cause);
        };
    }
}
