"""Structures other than requests and responses: metadata of group members, and records that brokers write for themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire import protocol
from kafkawire.errors import DecodeError
from kafkawire.protocol.formats.logged import (
    ControlRecord,
    ControlRecordType,
    CoordinatorRecord,
    coordinator_key,
    encode_control_record,
)
from kafkawire.protocol.formats.members import decode_assignment, decode_sticky_user_data, decode_subscription
from kafkawire.protocol.schema import Message
from tests.fuzz.runner import Target
from tests.fuzz.target_messages import check_message
from tests.protocol.formats import COORDINATORS, FORMATS, family
from tests.protocol.message_samples import full_message

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TARGETS"]

MEMBERS: dict[str, Callable[[bytes], Message]] = {
    "ConsumerProtocolSubscription": decode_subscription,
    "ConsumerProtocolAssignment": decode_assignment,
    "StickyAssignorUserData": decode_sticky_user_data,
}
"""Each number that an input of `formats-members` begins with is a place here."""


READERS = (protocol.offsets_record, protocol.transaction_record, protocol.control_record)

CONTROLS = {
    ControlRecordType.COMMIT: "EndTxnMarker",
    ControlRecordType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlRecordType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlRecordType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlRecordType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlRecordType.KRAFT_VOTERS: "VotersRecord",
}


def member_seeds() -> list[bytes]:
    return [
        bytes([at]) + (protocol.encode if name == "StickyAssignorUserData" else protocol.encode_versioned)(message, version)
        for at, name in enumerate(MEMBERS)
        for version in protocol.data(name).versions
        for message in [full_message(protocol.data(name), version)]
    ]


def check_members(data: bytes) -> bool:
    """Any bytes decode to a message that survives a round trip, or are a DecodeError."""
    name, decode = list(MEMBERS.items())[data[0]]
    try:
        message = decode(data[1:])
    except DecodeError:
        return False
    check_message(message, protocol.data(name).versions.max)
    return True


def record_seed(kind: int, key: bytes, value: bytes) -> bytes:
    """An input of `formats-records`: which of `READERS`, the length of the key, key and value."""
    return bytes([kind, len(key)]) + key + value


def record_seeds() -> list[bytes]:
    coordinators = [
        record_seed(
            1 if family(cls) == "transaction_state" else 0,
            coordinator_key(full_message(protocol.data(cls.__name__.removesuffix("Value") + "Key"), 0)),
            protocol.encode_versioned(full_message(cls, version), version),
        )
        for cls in FORMATS
        if family(cls) in COORDINATORS and cls.__name__.endswith("Value")
        for version in cls.versions
    ]
    return coordinators + [
        record_seed(2, *encode_control_record(ControlRecord(kind, control_value(name, version)), version))
        for kind, name in CONTROLS.items()
        for version in protocol.data(name).versions
    ]


def control_value(name: str, version: int) -> Any:
    """Structures of Raft have their version in their first field."""
    value = full_message(protocol.data(name), version)
    if hasattr(value, "version"):
        value.version = version
    return value


def check_records(data: bytes) -> bool:
    """Any key and value decode to a record whose key and value survive a round trip, or are a DecodeError."""
    read, size = READERS[data[0]], int.from_bytes(data[1:2])
    key, value = data[2 : 2 + size], data[2 + size :]
    try:
        record = read(key, value or None)
    except DecodeError:
        return False
    if isinstance(record, CoordinatorRecord):
        check_message(record.key, 0)
        assert coordinator_key(record.key) == key
        if record.value is not None:
            check_message(record.value.message, record.value.version)
    elif record.value is not None:
        check_message(record.value, type(record.value).versions.max)
    return True


TARGETS = (
    Target("formats-members", member_seeds, check_members, keep=1),
    Target("formats-records", record_seeds, check_records, keep=1),
)
