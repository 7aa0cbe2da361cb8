"""What the members of a classic consumer group tell their leader and get from it, from bytes as any client wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.errors import DecodeError
from kafkawire.protocol.codec import decode
from kafkawire.protocol.formats import data
from kafkawire.protocol.formats.versioned import decode_versioned

if TYPE_CHECKING:
    from kafkawire.protocol.formats.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
    from kafkawire.protocol.formats.sticky import StickyAssignorUserData
    from kafkawire.protocol.wire import Buffer

__all__ = ["decode_assignment", "decode_sticky_user_data", "decode_subscription"]


def decode_subscription(metadata: Buffer) -> ConsumerProtocolSubscription:
    """What a member of any age subscribes to. Raises DecodeError."""
    cls: Any = data("ConsumerProtocolSubscription")
    found: ConsumerProtocolSubscription = decode_versioned(cls, metadata, newer=True).message
    return found


def decode_assignment(assignment: Buffer) -> ConsumerProtocolAssignment:
    """What a leader of any age assigns; empty bytes assign nothing (trap 86). Raises DecodeError."""
    cls: Any = data("ConsumerProtocolAssignment")
    found: ConsumerProtocolAssignment = decode_versioned(cls, assignment, newer=True).message if len(assignment) else cls()
    return found


def decode_sticky_user_data(user_data: Buffer) -> StickyAssignorUserData:
    """What the sticky assignor keeps in the user data of a subscription; empty bytes are nothing. Raises DecodeError.

    No number tells the versions apart: what does not fill version 1 is version 0, as for Java.
    """
    cls: Any = data("StickyAssignorUserData")
    try:
        found: StickyAssignorUserData = decode(cls, 1, user_data) if len(user_data) else cls()
    except DecodeError:
        found = decode(cls, 0, user_data)
    return found
