"""Records of `__consumer_offsets`: share groups (KIP-932)."""

from kafkawire.protocol.schema import Message, Struct, field
from kafkawire.protocol.wire import Int8, Int32, Int64, String, Uuid

__all__ = [
    "ShareGroupCurrentMemberAssignmentKey",
    "ShareGroupCurrentMemberAssignmentValue",
    "ShareGroupMemberMetadataKey",
    "ShareGroupMemberMetadataValue",
    "ShareGroupMetadataKey",
    "ShareGroupMetadataValue",
    "ShareGroupStatePartitionMetadataKey",
    "ShareGroupStatePartitionMetadataValue",
    "ShareGroupTargetAssignmentMemberKey",
    "ShareGroupTargetAssignmentMemberValue",
    "ShareGroupTargetAssignmentMetadataKey",
    "ShareGroupTargetAssignmentMetadataValue",
]


class ShareGroupMemberMetadataKey(Message, key=10, versions="0"):
    group_id: String = field()
    member_id: String = field()


class ShareGroupMemberMetadataValue(Message, key=10, versions="0", flexible="0+"):
    rack_id: String | None = field(nullable="0+")
    client_id: String = field()
    client_host: String = field()
    subscribed_topic_names: list[String] = field()


class ShareGroupMetadataKey(Message, key=11, versions="0"):
    group_id: String = field()


class ShareGroupMetadataValue(Message, key=11, versions="0", flexible="0+"):
    epoch: Int32 = field()
    metadata_hash: Int64 = field()


class ShareGroupTargetAssignmentMetadataKey(Message, key=12, versions="0"):
    group_id: String = field()


class ShareGroupTargetAssignmentMetadataValue(Message, key=12, versions="0", flexible="0+"):
    assignment_epoch: Int32 = field()
    assignment_timestamp: Int64 = field(tag=0, ignorable=True)


class ShareGroupTargetAssignmentMemberKey(Message, key=13, versions="0"):
    group_id: String = field()
    member_id: String = field()


class ShareGroupTargetAssignmentMemberValue(Message, key=13, versions="0", flexible="0+"):
    class TopicPartition(Struct):
        topic_id: Uuid = field()
        partitions: list[Int32] = field()

    topic_partitions: list[TopicPartition] = field()


class ShareGroupCurrentMemberAssignmentKey(Message, key=14, versions="0"):
    group_id: String = field()
    member_id: String = field()


class ShareGroupCurrentMemberAssignmentValue(Message, key=14, versions="0", flexible="0+"):
    class TopicPartitions(Struct):
        topic_id: Uuid = field()
        partitions: list[Int32] = field()

    member_epoch: Int32 = field()
    previous_member_epoch: Int32 = field()
    state: Int8 = field()
    assigned_partitions: list[TopicPartitions] = field()


class ShareGroupStatePartitionMetadataKey(Message, key=15, versions="0"):
    group_id: String = field()


class ShareGroupStatePartitionMetadataValue(Message, key=15, versions="0", flexible="0+"):
    class TopicPartitionsInfo(Struct):
        topic_id: Uuid = field()
        topic_name: String = field()
        partitions: list[Int32] = field()

    class TopicInfo(Struct):
        topic_id: Uuid = field()
        topic_name: String = field()

    initializing_topics: list[TopicPartitionsInfo] = field()
    initialized_topics: list[TopicPartitionsInfo] = field()
    deleting_topics: list[TopicInfo] = field()
