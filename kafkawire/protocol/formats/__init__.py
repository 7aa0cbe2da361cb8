"""Kafka's formats that are neither request nor response: one module a family, declarations only, loaded at first use.

Three modules are code: `versioned` for the form that most of these travel in, `members` for the data that consumers
of a group exchange, `logged` for records that brokers write for themselves.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Final

from kafkawire.protocol.schema import Message

__all__ = ["FAMILIES", "data"]


def _pairs(*stems: str) -> tuple[str, ...]:
    return tuple(stem + part for stem in stems for part in ("Key", "Value"))


FAMILIES: Final[dict[str, tuple[str, ...]]] = {
    "consumer_protocol": ("ConsumerProtocolSubscription", "ConsumerProtocolAssignment"),
    "sticky": ("StickyAssignorUserData", "CooperativeStickyAssignorUserData"),
    "principal": ("DefaultPrincipalData",),
    "control": (
        "ControlRecordTypeSchema",
        "EndTxnMarker",
        "LeaderChangeMessage",
        "SnapshotHeaderRecord",
        "SnapshotFooterRecord",
        "KRaftVersionRecord",
        "VotersRecord",
    ),
    "classic_group": _pairs("LegacyOffsetCommit", "OffsetCommit", "GroupMetadata"),
    "consumer_group": _pairs(
        "ConsumerGroupMetadata",
        "ConsumerGroupPartitionMetadata",
        "ConsumerGroupMemberMetadata",
        "ConsumerGroupTargetAssignmentMetadata",
        "ConsumerGroupTargetAssignmentMember",
        "ConsumerGroupCurrentMemberAssignment",
        "ConsumerGroupRegularExpression",
    ),
    "share_group": _pairs(
        "ShareGroupMemberMetadata",
        "ShareGroupMetadata",
        "ShareGroupTargetAssignmentMetadata",
        "ShareGroupTargetAssignmentMember",
        "ShareGroupCurrentMemberAssignment",
        "ShareGroupStatePartitionMetadata",
    ),
    "streams_group": _pairs(
        "StreamsGroupMetadata",
        "StreamsGroupMemberMetadata",
        "StreamsGroupTargetAssignmentMetadata",
        "StreamsGroupTargetAssignmentMember",
        "StreamsGroupCurrentMemberAssignment",
        "StreamsGroupTopology",
    ),
    "transaction_state": _pairs("TransactionLog"),
    "transaction_index": ("AbortedTxn",),
}
"""Modules, and the formats that each declares, as Kafka spells them."""

_MODULES: Final = {name: module for module, names in FAMILIES.items() for name in names}


@cache
def data(name: str) -> type[Message]:
    """The class of a format, such as "ConsumerProtocolAssignment". Raises KeyError for one that is not declared."""
    found: type[Message] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return found
