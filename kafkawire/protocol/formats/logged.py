"""Records that brokers write for themselves: `__consumer_offsets`, `__transaction_state`, and control records in any log."""

from __future__ import annotations

from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.errors import DecodeError
from kafkawire.protocol.codec import decode, encode
from kafkawire.protocol.formats import FAMILIES, data
from kafkawire.protocol.formats.versioned import INT16, Versioned, decode_versioned, encode_versioned, read_int16
from kafkawire.protocol.schema import Message

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer

__all__ = [
    "ControlRecord",
    "ControlRecordType",
    "CoordinatorRecord",
    "control_record",
    "coordinator_key",
    "encode_control_record",
    "offsets_record",
    "transaction_record",
]


class CoordinatorRecord(NamedTuple):
    """A record of `__consumer_offsets` or `__transaction_state`; the class of its key is its kind."""

    key: Message
    value: Versioned[Message] | None
    """None for a tombstone, which deletes the object of the key."""


def offsets_record(key: Buffer, value: Buffer | None) -> CoordinatorRecord:
    """Decode a record of `__consumer_offsets`. Raises DecodeError, also for a kind of record that is not declared."""
    return _coordinator_record(("classic_group", "consumer_group", "share_group", "streams_group"), key, value)


def transaction_record(key: Buffer, value: Buffer | None) -> CoordinatorRecord:
    """Decode a record of `__transaction_state`. Raises DecodeError, also for a kind of record that is not declared."""
    return _coordinator_record(("transaction_state",), key, value)


def coordinator_key(key: Message) -> bytes:
    """Encode the key of a coordinator's record, which begins with the number of its kind. Values are `encode_versioned`."""
    return INT16.pack(type(key).key) + encode(key, 0)


def _coordinator_record(families: tuple[str, ...], key: Buffer, value: Buffer | None) -> CoordinatorRecord:
    kind = read_int16(key, "coordinator's key")
    classes = _kinds(families).get(kind)
    if classes is None:
        raise DecodeError(f"a coordinator's record of kind {kind} is unknown", offset=0)
    key_class, value_class = classes
    return CoordinatorRecord(
        decode(key_class, 0, key, INT16.size), None if value is None else decode_versioned(value_class, value)
    )


@cache
def _kinds(families: tuple[str, ...]) -> dict[int, tuple[type[Message], type[Message]]]:
    keys = [data(name) for family in families for name in FAMILIES[family] if name.endswith("Key")]
    return {cls.key: (cls, data(cls.__name__.removesuffix("Key") + "Value")) for cls in keys}


class ControlRecordType(IntEnum):
    """Types of control records: the numbers in their keys."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


class ControlRecord(NamedTuple):
    """A record of a control batch."""

    type: ControlRecordType | int
    """The type, a plain int for an unknown one: readers skip those (trap 79)."""
    value: Message | None
    """The value, None for an unknown type."""


_CONTROL_VALUES: Final = {
    ControlRecordType.ABORT: "EndTxnMarker",
    ControlRecordType.COMMIT: "EndTxnMarker",
    ControlRecordType.LEADER_CHANGE: "LeaderChangeMessage",
    ControlRecordType.SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    ControlRecordType.SNAPSHOT_FOOTER: "SnapshotFooterRecord",
    ControlRecordType.KRAFT_VERSION: "KRaftVersionRecord",
    ControlRecordType.KRAFT_VOTERS: "VotersRecord",
}


def control_record(key: Buffer, value: Buffer | None) -> ControlRecord:
    """Decode a record of a control batch, of any version. Raises DecodeError."""
    number: int = getattr(decode_versioned(data("ControlRecordTypeSchema"), key, newer=True).message, "type")  # noqa: B009
    try:
        kind = ControlRecordType(number)
    except ValueError:
        return ControlRecord(number, None)
    if value is None:
        raise DecodeError(f"a {kind.name} control record without a value", offset=0)
    return ControlRecord(kind, decode_versioned(data(_CONTROL_VALUES[kind]), value, newer=True, prefix=_prefix(kind)).message)


def encode_control_record(record: ControlRecord, version: int = 0) -> tuple[bytes, bytes]:
    """Key and value of a control record whose type is known. Raises EncodeError, UnsupportedVersionError.

    `version` is the value's; Raft's records have it as their own first field, too.
    """
    kind, value = record
    if value is None:
        raise ValueError(f"a control record of type {kind} without a value")
    key = encode_versioned(data("ControlRecordTypeSchema")(type=int(kind)), 0)  # type: ignore[call-arg]
    return key, encode_versioned(value, version) if _prefix(kind) else encode(value, version)


def _prefix(kind: int) -> int:
    """Bytes before a control record's value; Raft's records begin with a field of their own that is the version."""
    return INT16.size if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT) else 0
