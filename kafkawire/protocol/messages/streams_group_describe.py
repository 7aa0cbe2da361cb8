"""StreamsGroupDescribe: state, topology, members and tasks of Kafka Streams groups (KIP-1071).

Version 1 has the description of the topology where the broker keeps one (KIP-1331), and the assignor (KIP-1357).
"""

from kafkawire.protocol.messages.streams_group_topology_description_update import TopologyDescription
from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int8, Int16, Int32, Int64, String, UInt16

__all__ = ["KeyValue", "StreamsGroupDescribeRequest", "StreamsGroupDescribeResponse"]


class StreamsGroupDescribeRequest(Request, key=89, versions="0-1", flexible="0+"):
    group_ids: list[String] = field()
    include_authorized_operations: Bool = field()
    include_topology_description: Bool = field("1+")


class KeyValue(Struct):
    key: String = field()
    value: String = field()


class StreamsGroupDescribeResponse(Response, key=89, versions="0-1", flexible="0+"):
    class DescribedGroup(Struct):
        class Topology(Struct):
            class Subtopology(Struct):
                class TopicInfo(Struct):
                    name: String = field()
                    partitions: Int32 = field()
                    replication_factor: Int16 = field()
                    topic_configs: list[KeyValue] = field()

                subtopology_id: String = field()
                source_topics: list[String] = field()
                repartition_sink_topics: list[String] = field()
                state_changelog_topics: list[TopicInfo] = field()
                repartition_source_topics: list[TopicInfo] = field()

            epoch: Int32 = field()
            subtopologies: list[Subtopology] | None = field(default=None, nullable="0+")

        class Member(Struct):
            class Endpoint(Struct):
                host: String = field()
                port: UInt16 = field()

            class TaskOffset(Struct):
                subtopology_id: String = field()
                partition: Int32 = field()
                offset: Int64 = field()

            class Assignment(Struct):
                class TaskIds(Struct):
                    subtopology_id: String = field()
                    partitions: list[Int32] = field()

                active_tasks: list[TaskIds] = field()
                standby_tasks: list[TaskIds] = field()
                warmup_tasks: list[TaskIds] = field()

            member_id: String = field()
            member_epoch: Int32 = field()
            instance_id: String | None = field(default=None, nullable="0+")
            rack_id: String | None = field(default=None, nullable="0+")
            client_id: String = field()
            client_host: String = field()
            topology_epoch: Int32 = field()
            process_id: String = field()
            user_endpoint: Endpoint | None = field(default=None, nullable="0+")
            client_tags: list[KeyValue] = field()
            task_offsets: list[TaskOffset] = field()
            task_end_offsets: list[TaskOffset] = field()
            assignment: Assignment = field()
            target_assignment: Assignment = field()
            is_classic: Bool = field()

        error_code: Int16 = field()
        error_message: String | None = field(default=None, nullable="0+")
        group_id: String = field()
        group_state: String = field()
        group_epoch: Int32 = field()
        assignment_epoch: Int32 = field()
        topology: Topology | None = field(default=None, nullable="0+")
        members: list[Member] = field()
        authorized_operations: Int32 = field(default=-2147483648)
        topology_description: TopologyDescription | None = field("1+", default=None, nullable="1+")
        topology_description_status: Int8 = field("1+")
        assignor_name: String | None = field("1+", default=None, nullable="1+", ignorable=True)

    throttle_time_ms: Int32 = field()
    groups: list[DescribedGroup] = field()
