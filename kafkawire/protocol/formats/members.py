"""Subscriptions and assignments of a classic consumer group, from bytes as any client wrote them."""

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
    """Decode a member's subscription, of any version. Raises DecodeError."""
    cls: Any = data("ConsumerProtocolSubscription")
    found: ConsumerProtocolSubscription = decode_versioned(cls, metadata, newer=True).message
    return found


def decode_assignment(assignment: Buffer) -> ConsumerProtocolAssignment:
    """Decode an assignment by the leader, of any version; empty bytes assign nothing (trap 86). Raises DecodeError."""
    cls: Any = data("ConsumerProtocolAssignment")
    found: ConsumerProtocolAssignment = decode_versioned(cls, assignment, newer=True).message if len(assignment) else cls()
    return found


def decode_sticky_user_data(user_data: Buffer) -> StickyAssignorUserData:
    """Decode the sticky assignor's user data in a subscription; empty bytes are no data. Raises DecodeError.

    The data has no version number: bytes too short for version 1 are version 0, as in Java's client.
    """
    cls: Any = data("StickyAssignorUserData")
    try:
        found: StickyAssignorUserData = decode(cls, 1, user_data) if len(user_data) else cls()
    except DecodeError:
        found = decode(cls, 0, user_data)
    return found
