"""User data of the sticky assignors: a member's last assignment (KIP-54), or only its generation (KIP-429).

Kafka has these as a `Schema` in its code, without a version number before them.
"""

from kafkawire.protocol.schema import Message, Struct, field
from kafkawire.protocol.wire import Int32, String

__all__ = ["CooperativeStickyAssignorUserData", "StickyAssignorUserData"]


class StickyAssignorUserData(Message, versions="0-1"):
    class TopicAssignment(Struct):
        topic: String = field()
        partitions: list[Int32] = field()

    previous_assignment: list[TopicAssignment] = field()
    generation: Int32 = field("1+", default=-1, ignorable=True)


class CooperativeStickyAssignorUserData(Message, versions="0"):
    generation: Int32 = field()
