"""Records of `__consumer_offsets`: consumer groups (KIP-848)."""

from kafkawire.protocol.schema import Message, Struct, field
from kafkawire.protocol.wire import Bytes, Int8, Int32, Int64, String, Uuid

__all__ = [
    "ConsumerGroupCurrentMemberAssignmentKey",
    "ConsumerGroupCurrentMemberAssignmentValue",
    "ConsumerGroupMemberMetadataKey",
    "ConsumerGroupMemberMetadataValue",
    "ConsumerGroupMetadataKey",
    "ConsumerGroupMetadataValue",
    "ConsumerGroupPartitionMetadataKey",
    "ConsumerGroupPartitionMetadataValue",
    "ConsumerGroupRegularExpressionKey",
    "ConsumerGroupRegularExpressionValue",
    "ConsumerGroupTargetAssignmentMemberKey",
    "ConsumerGroupTargetAssignmentMemberValue",
    "ConsumerGroupTargetAssignmentMetadataKey",
    "ConsumerGroupTargetAssignmentMetadataValue",
]


class ConsumerGroupMetadataKey(Message, key=3, versions="0"):
    group_id: String = field()


class ConsumerGroupMetadataValue(Message, key=3, versions="0", flexible="0+"):
    epoch: Int32 = field()
    metadata_hash: Int64 = field(tag=0)


class ConsumerGroupPartitionMetadataKey(Message, key=4, versions="0"):
    group_id: String = field()


class ConsumerGroupPartitionMetadataValue(Message, key=4, versions="0", flexible="0+"):
    class TopicMetadata(Struct):
        class PartitionMetadata(Struct):
            partition: Int32 = field()
            racks: list[String] = field()

        topic_id: Uuid = field()
        topic_name: String = field()
        num_partitions: Int32 = field()
        partition_metadata: list[PartitionMetadata] = field()

    topics: list[TopicMetadata] = field()


class ConsumerGroupMemberMetadataKey(Message, key=5, versions="0"):
    group_id: String = field()
    member_id: String = field()


class ConsumerGroupMemberMetadataValue(Message, key=5, versions="0", flexible="0+"):
    class ClassicMemberMetadata(Struct):
        class ClassicProtocol(Struct):
            name: String = field()
            metadata: Bytes = field()

        session_timeout_ms: Int32 = field()
        supported_protocols: list[ClassicProtocol] = field()

    instance_id: String | None = field(nullable="0+")
    rack_id: String | None = field(nullable="0+")
    client_id: String = field()
    client_host: String = field()
    subscribed_topic_names: list[String] = field()
    subscribed_topic_regex: String | None = field(nullable="0+")
    rebalance_timeout_ms: Int32 = field(default=-1)
    server_assignor: String | None = field(nullable="0+")
    classic_member_metadata: ClassicMemberMetadata | None = field(nullable="0+", tag=0)


class ConsumerGroupTargetAssignmentMetadataKey(Message, key=6, versions="0"):
    group_id: String = field()


class ConsumerGroupTargetAssignmentMetadataValue(Message, key=6, versions="0", flexible="0+"):
    assignment_epoch: Int32 = field()
    assignment_timestamp: Int64 = field(tag=0, ignorable=True)


class ConsumerGroupTargetAssignmentMemberKey(Message, key=7, versions="0"):
    group_id: String = field()
    member_id: String = field()


class ConsumerGroupTargetAssignmentMemberValue(Message, key=7, versions="0", flexible="0+"):
    class TopicPartition(Struct):
        topic_id: Uuid = field()
        partitions: list[Int32] = field()

    topic_partitions: list[TopicPartition] = field()


class ConsumerGroupCurrentMemberAssignmentKey(Message, key=8, versions="0"):
    group_id: String = field()
    member_id: String = field()


class ConsumerGroupCurrentMemberAssignmentValue(Message, key=8, versions="0", flexible="0+"):
    class TopicPartitions(Struct):
        topic_id: Uuid = field()
        partitions: list[Int32] = field()
        assignment_epochs: list[Int32] | None = field(nullable="0+", tag=0)

    member_epoch: Int32 = field()
    previous_member_epoch: Int32 = field()
    state: Int8 = field()
    assigned_partitions: list[TopicPartitions] = field()
    partitions_pending_revocation: list[TopicPartitions] = field()


class ConsumerGroupRegularExpressionKey(Message, key=16, versions="0"):
    group_id: String = field()
    regular_expression: String = field()


class ConsumerGroupRegularExpressionValue(Message, key=16, versions="0", flexible="0+"):
    topics: list[String] = field()
    version: Int64 = field()
    timestamp: Int64 = field()
