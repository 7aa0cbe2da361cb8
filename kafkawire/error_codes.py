"""Kafka's table of error codes, with the reaction of a client to each; users import it from `kafkawire.errors`."""

from __future__ import annotations

from enum import IntEnum
from typing import Self

__all__ = ["ErrorCode"]

_RETRY, _METADATA, _COORDINATOR = "retry", "metadata", "coordinator"


class ErrorCode(IntEnum):
    """Kafka's error codes, and the reactions to them that Java's client has (org.apache.kafka.common.protocol.Errors)."""

    text: str
    """Meaning of the code, in a line."""
    retriable: bool
    """True if the same request may succeed later."""
    refresh_metadata: bool
    """True if the client's view of topics, leaders or the controller may be out of date: Java's InvalidMetadataException, and
    two codes after which Java's clients ask for metadata as well.
    """
    refresh_coordinator: bool
    """True if the coordinator must be looked up again (Java's RefreshRetriableException)."""

    def __new__(cls, code: int, text: str, reaction: str = "") -> Self:
        """A member from its row in the table."""
        member = int.__new__(cls, code)
        member._value_ = code
        member.text = text
        member.retriable = bool(reaction)
        member.refresh_metadata = reaction == _METADATA
        member.refresh_coordinator = reaction == _COORDINATOR
        return member

    @classmethod
    def of(cls, code: int) -> ErrorCode:
        """The member for a code; UNKNOWN_SERVER_ERROR for one of a Kafka newer than this table."""
        return _CODES.get(code, cls.UNKNOWN_SERVER_ERROR)

    UNKNOWN_SERVER_ERROR = -1, "the broker failed in a way it has no code for; see its log"
    NONE = 0, "no error"
    OFFSET_OUT_OF_RANGE = 1, "the offset is outside what the partition holds"
    CORRUPT_MESSAGE = 2, "the broker found the records corrupt, or without a key in a compacted topic", _RETRY
    UNKNOWN_TOPIC_OR_PARTITION = 3, "the broker does not know the topic or partition", _METADATA
    INVALID_FETCH_SIZE = 4, "the fetch size is not valid"
    LEADER_NOT_AVAILABLE = 5, "the partition has no leader at the moment", _METADATA
    NOT_LEADER_OR_FOLLOWER = 6, "the broker does not lead the partition, or holds no replica of it", _METADATA
    REQUEST_TIMED_OUT = 7, "the broker gave up waiting, for replicas or for another broker", _RETRY
    BROKER_NOT_AVAILABLE = 8, "the broker is not available"
    REPLICA_NOT_AVAILABLE = 9, "the replica is not available", _METADATA
    MESSAGE_TOO_LARGE = 10, "a batch is larger than the topic's max.message.bytes or the broker's message.max.bytes"
    STALE_CONTROLLER_EPOCH = 11, "the controller has moved"
    OFFSET_METADATA_TOO_LARGE = 12, "the metadata of the commit is longer than offset.metadata.max.bytes"
    NETWORK_EXCEPTION = 13, "the connection was lost before the answer came", _METADATA
    COORDINATOR_LOAD_IN_PROGRESS = 14, "the coordinator is still loading its state", _RETRY
    COORDINATOR_NOT_AVAILABLE = 15, "there is no coordinator at the moment", _COORDINATOR
    NOT_COORDINATOR = 16, "the broker is not the coordinator", _COORDINATOR
    INVALID_TOPIC_EXCEPTION = 17, "the topic name is not valid, or the topic is internal"
    RECORD_LIST_TOO_LARGE = 18, "a record batch is larger than a log segment"
    NOT_ENOUGH_REPLICAS = 19, "fewer replicas are in sync than min.insync.replicas; nothing was written", _RETRY
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20, "written, but to fewer replicas than min.insync.replicas", _RETRY
    INVALID_REQUIRED_ACKS = 21, "acks must be -1, 0 or 1"
    ILLEGAL_GENERATION = 22, "the group has moved on to another generation"
    INCONSISTENT_GROUP_PROTOCOL = 23, "the member shares no protocol with its group"
    INVALID_GROUP_ID = 24, "the group id is not valid"
    UNKNOWN_MEMBER_ID = 25, "the coordinator does not know the member"
    INVALID_SESSION_TIMEOUT = 26, "the session timeout is outside the broker's limits"
    REBALANCE_IN_PROGRESS = 27, "the group is rebalancing: join again"
    INVALID_COMMIT_OFFSET_SIZE = 28, "the commit is too large to store"
    TOPIC_AUTHORIZATION_FAILED = 29, "no permission for the topic"
    GROUP_AUTHORIZATION_FAILED = 30, "no permission for the group"
    CLUSTER_AUTHORIZATION_FAILED = 31, "no permission for the cluster"
    INVALID_TIMESTAMP = 32, "the timestamp is too far from the broker's time"
    UNSUPPORTED_SASL_MECHANISM = 33, "the broker does not offer the SASL mechanism"
    ILLEGAL_SASL_STATE = 34, "the request does not belong at this point of the SASL handshake"
    UNSUPPORTED_VERSION = 35, "the broker does not speak this version of the request"
    TOPIC_ALREADY_EXISTS = 36, "the topic exists already"
    INVALID_PARTITIONS = 37, "the number of partitions is not valid"
    INVALID_REPLICATION_FACTOR = 38, "the replication factor is not between 1 and the number of brokers"
    INVALID_REPLICA_ASSIGNMENT = 39, "the assignment of replicas is not valid"
    INVALID_CONFIG = 40, "a configuration is not valid"
    NOT_CONTROLLER = 41, "the broker is not the controller", _METADATA
    INVALID_REQUEST = 42, "the broker takes the request for malformed or contradictory"
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43, "the partition's record format is too old for this"
    POLICY_VIOLATION = 44, "the broker's policy forbids it"
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45, "the sequence number leaves a gap after the last one written"
    DUPLICATE_SEQUENCE_NUMBER = 46, "the sequence number was written before"
    INVALID_PRODUCER_EPOCH = 47, "a newer producer took over the id, or the transaction timed out"
    INVALID_TXN_STATE = 48, "the transaction is not in a state that allows this"
    INVALID_PRODUCER_ID_MAPPING = 49, "the producer id no longer belongs to the transactional id"
    INVALID_TRANSACTION_TIMEOUT = 50, "the transaction timeout is larger than transaction.max.timeout.ms"
    CONCURRENT_TRANSACTIONS = 51, "another operation on the transaction is not finished", _RETRY
    TRANSACTION_COORDINATOR_FENCED = 52, "the transaction coordinator has been replaced"
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53, "no permission for the transactional id"
    SECURITY_DISABLED = 54, "the cluster has no authorizer"
    OPERATION_NOT_ATTEMPTED = 55, "not attempted, since another part of the request failed"
    KAFKA_STORAGE_ERROR = 56, "the broker cannot read or write its disk", _METADATA
    LOG_DIR_NOT_FOUND = 57, "the broker has no such log directory"
    SASL_AUTHENTICATION_FAILED = 58, "the broker rejected the credentials"
    UNKNOWN_PRODUCER_ID = 59, "the broker has forgotten the producer, with its last records"
    REASSIGNMENT_IN_PROGRESS = 60, "the partition is being reassigned already"
    DELEGATION_TOKEN_AUTH_DISABLED = 61, "delegation tokens are switched off"
    DELEGATION_TOKEN_NOT_FOUND = 62, "the broker does not know the delegation token"
    DELEGATION_TOKEN_OWNER_MISMATCH = 63, "the principal may not use this delegation token"
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64, "delegation tokens cannot be managed over this kind of connection"
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65, "no permission for the delegation token"
    DELEGATION_TOKEN_EXPIRED = 66, "the delegation token has expired"
    INVALID_PRINCIPAL_TYPE = 67, "the type of principal is not supported"
    NON_EMPTY_GROUP = 68, "the group still has members"
    GROUP_ID_NOT_FOUND = 69, "the group does not exist"
    FETCH_SESSION_ID_NOT_FOUND = 70, "the broker has dropped the fetch session", _RETRY
    INVALID_FETCH_SESSION_EPOCH = 71, "the fetch session is out of step", _RETRY
    LISTENER_NOT_FOUND = 72, "the leader has no listener of the name this one was reached by", _METADATA
    TOPIC_DELETION_DISABLED = 73, "the cluster does not allow topics to be deleted"
    FENCED_LEADER_EPOCH = 74, "the leader epoch is older than the broker's", _METADATA
    UNKNOWN_LEADER_EPOCH = 75, "the leader epoch is newer than the broker's", _METADATA
    UNSUPPORTED_COMPRESSION_TYPE = 76, "the version of the request cannot carry the partition's compression"
    STALE_BROKER_EPOCH = 77, "the broker has restarted since"
    OFFSET_NOT_AVAILABLE = 78, "the new leader does not know its high watermark yet", _RETRY
    MEMBER_ID_REQUIRED = 79, "the member must join again under the id it was given"
    PREFERRED_LEADER_NOT_AVAILABLE = 80, "the preferred leader is not available", _METADATA
    GROUP_MAX_SIZE_REACHED = 81, "the group is full"
    FENCED_INSTANCE_ID = 82, "another member has taken over the group instance id"
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83, "no replica may become leader", _METADATA
    ELECTION_NOT_NEEDED = 84, "the partition has the right leader already", _METADATA
    NO_REASSIGNMENT_IN_PROGRESS = 85, "no reassignment of the partition is going on"
    GROUP_SUBSCRIBED_TO_TOPIC = 86, "the group is subscribed to the topic"
    INVALID_RECORD = 87, "the broker's checks reject a record"
    UNSTABLE_OFFSET_COMMIT = 88, "an open transaction still decides about the offsets", _RETRY
    THROTTLING_QUOTA_EXCEEDED = 89, "over the quota for changes", _RETRY
    PRODUCER_FENCED = 90, "a newer producer has taken over the transactional id"
    RESOURCE_NOT_FOUND = 91, "the resource does not exist"
    DUPLICATE_RESOURCE = 92, "the request names the same thing twice"
    UNACCEPTABLE_CREDENTIAL = 93, "the credential does not meet the broker's demands"
    INCONSISTENT_VOTER_SET = 94, "the two sides do not agree on who votes"
    INVALID_UPDATE_VERSION = 95, "the version of the update is not valid"
    FEATURE_UPDATE_FAILED = 96, "the features could not be updated"
    PRINCIPAL_DESERIALIZATION_FAILURE = 97, "the controller cannot read the forwarded principal"
    SNAPSHOT_NOT_FOUND = 98, "there is no such snapshot"
    POSITION_OUT_OF_RANGE = 99, "the position is outside the snapshot"
    UNKNOWN_TOPIC_ID = 100, "the broker does not know the topic id", _METADATA
    DUPLICATE_BROKER_REGISTRATION = 101, "the broker id is in use"
    BROKER_ID_NOT_REGISTERED = 102, "there is no broker of this id"
    INCONSISTENT_TOPIC_ID = 103, "the topic has another id than the request says", _METADATA
    INCONSISTENT_CLUSTER_ID = 104, "the cluster has another id than the request says"
    TRANSACTIONAL_ID_NOT_FOUND = 105, "there is no such transactional id"
    FETCH_SESSION_TOPIC_ID_ERROR = 106, "the fetch session mixes requests with and without topic ids", _RETRY
    INELIGIBLE_REPLICA = 107, "a replica may not join those in sync"
    NEW_LEADER_ELECTED = 108, "done, but the leader has changed"
    OFFSET_MOVED_TO_TIERED_STORAGE = 109, "the offset is in remote storage"
    FENCED_MEMBER_EPOCH = 110, "the coordinator has fenced the member: rejoin with nothing"
    UNRELEASED_INSTANCE_ID = 111, "another member still holds the group instance id"
    UNSUPPORTED_ASSIGNOR = 112, "the group does not support the assignor"
    STALE_MEMBER_EPOCH = 113, "the member epoch is old: wait for the next heartbeat's"
    MISMATCHED_ENDPOINT_TYPE = 114, "a broker was asked what only a controller answers, or the reverse"
    UNSUPPORTED_ENDPOINT_TYPE = 115, "the broker does not support this kind of endpoint"
    UNKNOWN_CONTROLLER_ID = 116, "there is no controller of this id"
    UNKNOWN_SUBSCRIPTION_ID = 117, "the telemetry subscription is unknown or old"
    TELEMETRY_TOO_LARGE = 118, "the telemetry is larger than the broker accepts"
    INVALID_REGISTRATION = 119, "the controller rejects the broker's registration"
    TRANSACTION_ABORTABLE = 120, "the transaction must be aborted; its id can be used on"
    INVALID_RECORD_STATE = 121, "the record is in no state to be acknowledged"
    SHARE_SESSION_NOT_FOUND = 122, "the broker has dropped the share session", _RETRY
    INVALID_SHARE_SESSION_EPOCH = 123, "the share session is out of step", _RETRY
    FENCED_STATE_EPOCH = 124, "the state of the share group has another epoch"
    INVALID_VOTER_KEY = 125, "the voter's key is not the replica's"
    DUPLICATE_VOTER = 126, "the voter is one already"
    VOTER_NOT_FOUND = 127, "there is no such voter"
    INVALID_REGULAR_EXPRESSION = 128, "the regular expression is not valid"
    REBOOTSTRAP_REQUIRED = 129, "the client's view of the cluster is old, or it reached another broker: bootstrap again"
    STREAMS_INVALID_TOPOLOGY = 130, "the topology is not valid"
    STREAMS_INVALID_TOPOLOGY_EPOCH = 131, "the epoch of the topology is not valid"
    STREAMS_TOPOLOGY_FENCED = 132, "the epoch of the topology is old"
    SHARE_SESSION_LIMIT_REACHED = 133, "the broker has as many share sessions as it allows", _RETRY
    GROUP_DELETION_FAILED = 134, "the group could not be deleted"
    STREAMS_TOPOLOGY_DESCRIPTION_UPDATE_FAILED = 135, "the broker could not store the description of the topology"
    CONTROLLER_ID_NOT_REGISTERED = 136, "no controller of this id is registered"


_CODES = {int(member): member for member in ErrorCode}
