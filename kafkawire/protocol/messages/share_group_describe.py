"""ShareGroupDescribe: state, members and assignments of share groups (KIP-932). Version 0 was early access."""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int16, Int32, String, Uuid

__all__ = ["ShareGroupDescribeRequest", "ShareGroupDescribeResponse"]


class ShareGroupDescribeRequest(Request, key=77, versions="0-1", stable="1", flexible="0+"):
    group_ids: list[String] = field()
    include_authorized_operations: Bool = field()


class ShareGroupDescribeResponse(Response, key=77, versions="0-1", flexible="0+"):
    class DescribedGroup(Struct):
        class Member(Struct):
            class Assignment(Struct):
                class TopicPartitions(Struct):
                    topic_id: Uuid = field()
                    topic_name: String = field()
                    partitions: list[Int32] = field()

                topic_partitions: list[TopicPartitions] = field()

            member_id: String = field()
            rack_id: String | None = field(default=None, nullable="0+")
            member_epoch: Int32 = field()
            client_id: String = field()
            client_host: String = field()
            subscribed_topic_names: list[String] = field()
            assignment: Assignment = field()

        error_code: Int16 = field()
        error_message: String | None = field(default=None, nullable="0+")
        group_id: String = field()
        group_state: String = field()
        group_epoch: Int32 = field()
        assignment_epoch: Int32 = field()
        assignor_name: String = field()
        members: list[Member] = field()
        authorized_operations: Int32 = field(default=-2147483648)

    throttle_time_ms: Int32 = field()
    groups: list[DescribedGroup] = field()
