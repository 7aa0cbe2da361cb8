"""StreamsGroupHeartbeat: membership, topology and tasks of a Kafka Streams group (KIP-1071).

Version 1 asks for the description of the topology (KIP-1331), which StreamsGroupTopologyDescriptionUpdate brings.
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int8, Int16, Int32, Int64, String, UInt16

__all__ = ["KeyValue", "StreamsGroupHeartbeatRequest", "StreamsGroupHeartbeatResponse"]


class KeyValue(Struct):
    key: String = field()
    value: String = field()


class StreamsGroupHeartbeatRequest(Request, key=88, versions="0-1", flexible="0+"):
    class Topology(Struct):
        class Subtopology(Struct):
            class TopicInfo(Struct):
                name: String = field()
                partitions: Int32 = field()
                replication_factor: Int16 = field()
                topic_configs: list[KeyValue] = field()

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

    class TaskIds(Struct):
        subtopology_id: String = field()
        partitions: list[Int32] = field()

    class Endpoint(Struct):
        host: String = field()
        port: UInt16 = field()

    class TaskOffset(Struct):
        subtopology_id: String = field()
        partition: Int32 = field()
        offset: Int64 = field()

    group_id: String = field()
    member_id: String = field()
    member_epoch: Int32 = field()
    endpoint_information_epoch: Int32 = field()
    instance_id: String | None = field(default=None, nullable="0+")
    rack_id: String | None = field(default=None, nullable="0+")
    rebalance_timeout_ms: Int32 = field(default=-1)
    topology: Topology | None = field(default=None, nullable="0+")
    active_tasks: list[TaskIds] | None = field(default=None, nullable="0+")
    standby_tasks: list[TaskIds] | None = field(default=None, nullable="0+")
    warmup_tasks: list[TaskIds] | None = field(default=None, nullable="0+")
    process_id: String | None = field(default=None, nullable="0+")
    user_endpoint: Endpoint | None = field(default=None, nullable="0+")
    client_tags: list[KeyValue] | None = field(default=None, nullable="0+")
    task_offsets: list[TaskOffset] | None = field(default=None, nullable="0+")
    task_end_offsets: list[TaskOffset] | None = field(default=None, nullable="0+")
    shutdown_application: Bool = field()


class StreamsGroupHeartbeatResponse(Response, key=88, versions="0-1", flexible="0+"):
    class Status(Struct):
        status_code: Int8 = field()
        status_detail: String = field()

    class TaskIds(Struct):
        subtopology_id: String = field()
        partitions: list[Int32] = field()

    class EndpointToPartitions(Struct):
        class Endpoint(Struct):
            host: String = field()
            port: UInt16 = field()

        class TopicPartition(Struct):
            topic: String = field()
            partitions: list[Int32] = field()

        user_endpoint: Endpoint = field()
        active_partitions: list[TopicPartition] = field()
        standby_partitions: list[TopicPartition] = field()

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(default=None, nullable="0+")
    member_id: String = field()
    member_epoch: Int32 = field()
    heartbeat_interval_ms: Int32 = field()
    acceptable_recovery_lag_legacy: Int32 = field("0")
    task_offset_interval_ms: Int32 = field()
    acceptable_recovery_lag: Int64 = field("1+", default=-1, ignorable=True)
    status: list[Status] | None = field(nullable="0+")
    active_tasks: list[TaskIds] | None = field(default=None, nullable="0+")
    standby_tasks: list[TaskIds] | None = field(default=None, nullable="0+")
    warmup_tasks: list[TaskIds] | None = field(default=None, nullable="0+")
    topology_description_required: Bool = field("1+")
    endpoint_information_epoch: Int32 = field()
    partitions_by_user_endpoint: list[EndpointToPartitions] | None = field(default=None, nullable="0+")
