"""Subscriptions of the members of a classic consumer group, and assignments by its leader (KIP-429, KIP-792, KIP-881)."""

from kafkawire.protocol.schema import Message, Struct, field
from kafkawire.protocol.wire import Bytes, Int32, String

__all__ = ["ConsumerProtocolAssignment", "ConsumerProtocolSubscription"]


class ConsumerProtocolSubscription(Message, versions="0-3"):
    class TopicPartition(Struct):
        topic: String = field("1+")
        partitions: list[Int32] = field("1+")

    topics: list[String] = field()
    user_data: Bytes | None = field(default=None, nullable="0+")
    owned_partitions: list[TopicPartition] = field("1+", ignorable=True)
    generation_id: Int32 = field("2+", default=-1, ignorable=True)
    rack_id: String | None = field("3+", default=None, nullable="0+", ignorable=True)


class ConsumerProtocolAssignment(Message, versions="0-3"):
    class TopicPartition(Struct):
        topic: String = field()
        partitions: list[Int32] = field()

    assigned_partitions: list[TopicPartition] = field()
    user_data: Bytes | None = field(default=None, nullable="0+")
