"""Records of `__consumer_offsets`: streams groups (KIP-1071)."""

from kafkawire.protocol.schema import Message, Struct, field
from kafkawire.protocol.wire import Int8, Int16, Int32, Int64, String, UInt16

__all__ = [
    "StreamsGroupCurrentMemberAssignmentKey",
    "StreamsGroupCurrentMemberAssignmentValue",
    "StreamsGroupMemberMetadataKey",
    "StreamsGroupMemberMetadataValue",
    "StreamsGroupMetadataKey",
    "StreamsGroupMetadataValue",
    "StreamsGroupTargetAssignmentMemberKey",
    "StreamsGroupTargetAssignmentMemberValue",
    "StreamsGroupTargetAssignmentMetadataKey",
    "StreamsGroupTargetAssignmentMetadataValue",
    "StreamsGroupTopologyKey",
    "StreamsGroupTopologyValue",
]


class StreamsGroupMetadataKey(Message, key=17, versions="0"):
    group_id: String = field()


class StreamsGroupMetadataValue(Message, key=17, versions="0", flexible="0+"):
    class LastAssignmentConfig(Struct):
        key: String = field()
        value: String = field()

    epoch: Int32 = field()
    metadata_hash: Int64 = field()
    validated_topology_epoch: Int32 = field(default=-1, tag=0)
    last_assignment_configs: list[LastAssignmentConfig] | None = field(nullable="0+", tag=1)
    stored_description_topology_epoch: Int32 = field(default=-1, tag=2)
    failed_description_topology_epoch: Int32 = field(default=-1, tag=3)


class StreamsGroupMemberMetadataKey(Message, key=19, versions="0"):
    group_id: String = field()
    member_id: String = field()


class StreamsGroupMemberMetadataValue(Message, key=19, versions="0", flexible="0+"):
    class Endpoint(Struct):
        host: String = field()
        port: UInt16 = field()

    class KeyValue(Struct):
        key: String = field()
        value: String = field()

    instance_id: String | None = field(nullable="0+")
    rack_id: String | None = field(nullable="0+")
    client_id: String = field()
    client_host: String = field()
    rebalance_timeout_ms: Int32 = field(default=-1)
    topology_epoch: Int32 = field()
    process_id: String = field()
    user_endpoint: Endpoint | None = field(default=None, nullable="0+")
    client_tags: list[KeyValue] = field()


class StreamsGroupTargetAssignmentMetadataKey(Message, key=20, versions="0"):
    group_id: String = field()


class StreamsGroupTargetAssignmentMetadataValue(Message, key=20, versions="0", flexible="0+"):
    assignment_epoch: Int32 = field()
    assignment_timestamp: Int64 = field(tag=0, ignorable=True)


class StreamsGroupTargetAssignmentMemberKey(Message, key=21, versions="0"):
    group_id: String = field()
    member_id: String = field()


class StreamsGroupTargetAssignmentMemberValue(Message, key=21, versions="0", flexible="0+"):
    class TaskIds(Struct):
        subtopology_id: String = field()
        partitions: list[Int32] = field()

    active_tasks: list[TaskIds] = field()
    standby_tasks: list[TaskIds] = field()
    warmup_tasks: list[TaskIds] = field()


class StreamsGroupCurrentMemberAssignmentKey(Message, key=22, versions="0"):
    group_id: String = field()
    member_id: String = field()


class StreamsGroupCurrentMemberAssignmentValue(Message, key=22, versions="0", flexible="0+"):
    class TaskIds(Struct):
        subtopology_id: String = field()
        partitions: list[Int32] = field()
        assignment_epochs: list[Int32] | None = field(nullable="0+", tag=0)

    member_epoch: Int32 = field()
    previous_member_epoch: Int32 = field()
    state: Int8 = field()
    active_tasks: list[TaskIds] = field()
    standby_tasks: list[TaskIds] = field()
    warmup_tasks: list[TaskIds] = field()
    active_tasks_pending_revocation: list[TaskIds] = field()
    standby_tasks_pending_revocation: list[TaskIds] = field()
    warmup_tasks_pending_revocation: list[TaskIds] = field()


class StreamsGroupTopologyKey(Message, key=23, versions="0"):
    group_id: String = field()


class StreamsGroupTopologyValue(Message, key=23, versions="0", flexible="0+"):
    class Subtopology(Struct):
        class TopicInfo(Struct):
            class TopicConfig(Struct):
                key: String = field()
                value: String = field()

            name: String = field()
            partitions: Int32 = field()
            replication_factor: Int16 = field()
            topic_configs: list[TopicConfig] = field()

        class CopartitionGroup(Struct):
            source_topics: list[Int16] = field()
            source_topic_regex: list[Int16] = field()
            repartition_source_topics: list[Int16] = field()

        subtopology_id: String = field()
        source_topics: list[String] = field()
        source_topic_regex: list[String] = field()
        state_changelog_topics: list[TopicInfo] = field()
        repartition_sink_topics: list[String] = field()
        repartition_source_topics: list[TopicInfo] = field()
        copartition_groups: list[CopartitionGroup] = field()

    epoch: Int32 = field()
    subtopologies: list[Subtopology] = field()
