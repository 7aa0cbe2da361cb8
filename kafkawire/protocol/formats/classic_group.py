"""Records of `__consumer_offsets`: committed offsets of groups of every kind, and classic groups."""

from kafkawire.protocol.schema import Message, Struct, field
from kafkawire.protocol.wire import Bytes, Int32, Int64, String, Uuid

__all__ = [
    "GroupMetadataKey",
    "GroupMetadataValue",
    "LegacyOffsetCommitKey",
    "LegacyOffsetCommitValue",
    "OffsetCommitKey",
    "OffsetCommitValue",
]


class LegacyOffsetCommitKey(Message, key=0, versions="0"):
    group: String = field()
    topic: String = field()
    partition: Int32 = field()


class LegacyOffsetCommitValue(Message, key=0, versions="0"):
    offset: Int64 = field()
    metadata: String = field()
    commit_timestamp: Int64 = field()


class OffsetCommitKey(Message, key=1, versions="0"):
    group: String = field()
    topic: String = field()
    partition: Int32 = field()


class OffsetCommitValue(Message, key=1, versions="0-4", flexible="4+"):
    offset: Int64 = field()
    leader_epoch: Int32 = field("3+", default=-1, ignorable=True)
    metadata: String = field()
    commit_timestamp: Int64 = field()
    expire_timestamp: Int64 = field("1", default=-1, ignorable=True)
    topic_id: Uuid = field("4+", tag=0, ignorable=True)


class GroupMetadataKey(Message, key=2, versions="0"):
    group: String = field()


class GroupMetadataValue(Message, key=2, versions="0-4", flexible="4+"):
    class MemberMetadata(Struct):
        member_id: String = field()
        group_instance_id: String | None = field("3+", default=None, nullable="0+", ignorable=True)
        client_id: String = field()
        client_host: String = field()
        rebalance_timeout: Int32 = field("1+", default=-1, ignorable=True)
        session_timeout: Int32 = field()
        subscription: Bytes = field()
        assignment: Bytes = field()

    protocol_type: String = field()
    generation: Int32 = field()
    protocol: String | None = field(nullable="0+")
    leader: String | None = field(nullable="0+")
    current_state_timestamp: Int64 = field("2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = field()
