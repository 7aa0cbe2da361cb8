"""Formats that are no request or response: every version to bytes and back, bytes of any age, hostile bytes."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkawire import protocol
from kafkawire.errors import DecodeError, EncodeError, UnsupportedVersionError
from kafkawire.protocol.formats.logged import ControlRecord, ControlRecordType, coordinator_key, encode_control_record
from kafkawire.protocol.formats.members import decode_assignment, decode_sticky_user_data, decode_subscription
from tests.protocol.formats import COORDINATORS, FORMATS, every_version, family
from tests.protocol.strategies import messages

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Message

Subscription: Any = protocol.data("ConsumerProtocolSubscription")
Assignment: Any = protocol.data("ConsumerProtocolAssignment")
Sticky: Any = protocol.data("StickyAssignorUserData")
EndTxnMarker: Any = protocol.data("EndTxnMarker")
LeaderChange: Any = protocol.data("LeaderChangeMessage")
OffsetCommitKey: Any = protocol.data("OffsetCommitKey")
OffsetCommitValue: Any = protocol.data("OffsetCommitValue")
MemberMetadata: Any = protocol.data("ConsumerGroupMemberMetadataValue")

KEYS = [cls for cls in FORMATS if family(cls) in COORDINATORS and cls.__name__.endswith("Key")]

CONTROL_VALUES = [
    "EndTxnMarker",
    "EndTxnMarker",
    "LeaderChangeMessage",
    "SnapshotHeaderRecord",
    "SnapshotFooterRecord",
    "KRaftVersionRecord",
    "VotersRecord",
]

every_key = pytest.mark.parametrize("key_class", KEYS, ids=lambda cls: cls.__name__)
few_examples = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@every_version
@few_examples
@given(data=st.data())
def test_a_format_comes_back(cls: type[Message], version: int, data: st.DataObject) -> None:
    message = data.draw(messages(cls, version))
    body = protocol.encode(message, version)
    assert protocol.decode(cls, version, body) == message
    assert protocol.encode_versioned(message, version) == version.to_bytes(2) + body
    assert protocol.decode_versioned(cls, memoryview(version.to_bytes(2) + body)) == (version, message)
    assert protocol.from_dict(cls, protocol.to_dict(message)) == message


@every_key
@few_examples
@given(data=st.data())
def test_a_coordinators_record_comes_back(key_class: type[Message], data: st.DataObject) -> None:
    read = protocol.transaction_record if family(key_class) == "transaction_state" else protocol.offsets_record
    value_class = protocol.data(key_class.__name__.removesuffix("Key") + "Value")
    key = data.draw(messages(key_class, 0))
    assert read(coordinator_key(key), None) == (key, None)
    for version in value_class.versions:
        value = data.draw(messages(value_class, version))
        assert read(coordinator_key(key), protocol.encode_versioned(value, version)) == (key, (version, value))


@pytest.mark.parametrize("kind", ControlRecordType)
@few_examples
@given(data=st.data())
def test_a_control_record_comes_back(kind: ControlRecordType, data: st.DataObject) -> None:
    name = {
        0: "EndTxnMarker",
        1: "EndTxnMarker",
        2: "LeaderChangeMessage",
        3: "SnapshotHeaderRecord",
        4: "SnapshotFooterRecord",
    }
    cls = protocol.data(name.get(kind) or {5: "KRaftVersionRecord", 6: "VotersRecord"}[kind])
    for version in cls.versions:
        value = data.draw(messages(cls, version))
        if hasattr(value, "version"):
            value.version = version
        record = ControlRecord(kind, value)
        assert protocol.control_record(*encode_control_record(record, version)) == record


@every_version
@settings(max_examples=2, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_bytes_cut_short_or_too_many_are_decode_errors(cls: type[Message], version: int, data: st.DataObject) -> None:
    body = protocol.encode_versioned(data.draw(messages(cls, version)), version)
    for end in range(len(body)):
        with pytest.raises(DecodeError):
            protocol.decode_versioned(cls, body[:end])
    with pytest.raises(DecodeError, match="1 bytes are left over"):
        protocol.decode_versioned(cls, body + b"\0")


@every_version
@settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data(), seed=st.integers(0, 1 << 32))
def test_altered_bytes_decode_or_are_decode_errors(cls: type[Message], version: int, data: st.DataObject, seed: int) -> None:
    body = protocol.encode_versioned(data.draw(messages(cls, version)), version)
    key = coordinator_key(data.draw(messages(cls, 0))) if cls in KEYS else b"\0\0\0\1"
    dice = random.Random(seed)
    for _ in range(30):
        broken, broken_key = altered(body, dice), altered(key, dice)
        for read in (
            lambda broken=broken: protocol.decode_versioned(cls, broken),
            lambda broken=broken: decode_subscription(broken),
            lambda broken=broken: decode_assignment(broken),
            lambda broken=broken: decode_sticky_user_data(broken),
            lambda broken=broken, key=broken_key: protocol.offsets_record(key, broken),
            lambda broken=broken, key=broken_key: protocol.transaction_record(key, broken),
            lambda broken=broken, key=broken_key: protocol.control_record(key, broken),
        ):
            assert fails_well(read, max(len(broken), len(broken_key)))


def altered(data: bytes, dice: random.Random) -> bytearray:
    found = bytearray(data)
    for _ in range(dice.randint(1, 3)):
        if found:
            found[dice.randrange(len(found))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
    return found


def fails_well(read: Any, size: int) -> bool:
    """Check that damaged bytes are decoded, or that the error gives the position."""
    try:
        read()
    except DecodeError as error:
        return error.offset is not None and 0 <= error.offset <= size
    return True


def test_a_newer_subscription_is_read_as_the_newest_known() -> None:
    """Trap 88."""
    subscription = Subscription(topics=["t"], user_data=b"u", generation_id=7, rack_id="r")
    newer = b"\0\x09" + protocol.encode(subscription, 3) + b"what will be added"
    assert decode_subscription(newer) == subscription
    with pytest.raises(DecodeError, match=r"ConsumerProtocolSubscription v9 at byte 0: only versions 0-3 are known"):
        protocol.decode_versioned(Subscription, newer)
    with pytest.raises(DecodeError, match="v-1"):
        decode_subscription(b"\xff\xff" + newer[2:])


def test_an_older_subscription_drops_what_came_later() -> None:
    subscription = Subscription(topics=["t"], generation_id=7, rack_id="r")
    assert decode_subscription(protocol.encode_versioned(subscription, 0)) == Subscription(topics=["t"])
    # Version 0 as clients have sent it since 0.9: one topic, no user data.
    assert protocol.encode_versioned(Subscription(topics=["t"]), 0) == bytes.fromhex("0000 00000001 0001 74 ffffffff")


def test_an_assignment_of_no_bytes_assigns_nothing() -> None:
    """Trap 86."""
    assert decode_assignment(b"") == Assignment()
    assigned = Assignment(assigned_partitions=[Assignment.TopicPartition(topic="t", partitions=[0, 2])])
    data = bytes.fromhex("0001 00000001 0001 74 00000002 00000000 00000002 ffffffff")
    assert protocol.encode_versioned(assigned, 1) == data
    assert decode_assignment(data) == assigned


def test_the_versions_of_sticky_user_data_are_told_apart_by_their_length() -> None:
    before = [Sticky.TopicAssignment(topic="t", partitions=[3])]
    first = bytes.fromhex("00000001 0001 74 00000001 00000003")
    assert decode_sticky_user_data(first) == Sticky(previous_assignment=before)
    assert decode_sticky_user_data(first + bytes.fromhex("00000005")) == Sticky(previous_assignment=before, generation=5)
    assert decode_sticky_user_data(b"") == Sticky()
    with pytest.raises(DecodeError):
        decode_sticky_user_data(first + b"\0")


def test_control_records_that_are_not_known_are_told_apart_not_refused() -> None:
    """Trap 79: readers skip them."""
    assert protocol.control_record(b"\0\0\0\x63", b"anything") == (99, None)
    assert protocol.control_record(b"\0\0\0\x63", None) == (99, None)
    with pytest.raises(DecodeError, match="COMMIT control record without a value"):
        protocol.control_record(b"\0\0\0\1", None)


def test_control_records_of_newer_versions_are_read_as_the_newest_known() -> None:
    commit = ControlRecord(ControlRecordType.COMMIT, EndTxnMarker(coordinator_epoch=7))
    assert protocol.control_record(b"\0\x05\0\1new", b"\0\x03\0\0\0\7new") == commit
    assert encode_control_record(commit) == (b"\0\0\0\1", b"\0\0\0\0\0\7")
    change = protocol.control_record(b"\0\0\0\2", b"\0\x09" + bytes.fromhex("00000001 01 01 00") + b"new")
    assert change == (ControlRecordType.LEADER_CHANGE, LeaderChange(version=9, leader_id=1))


@pytest.mark.parametrize(
    ("key", "reason"),
    [(b"\0", "1 bytes are too few"), (b"\0\x63", "kind 99 is unknown"), (b"\xff\xff", "kind -1 is unknown")],
)
def test_a_coordinators_record_of_no_known_kind_is_a_decode_error(key: bytes, reason: str) -> None:
    for read in (protocol.offsets_record, protocol.transaction_record):
        with pytest.raises(DecodeError, match=reason):
            read(key, None)


def test_an_offset_commit_as_brokers_have_written_it() -> None:
    """Version 1, the one with an expiry, of Kafka 0.9 to 2.0."""
    key = bytes.fromhex("0001 0001 67 0001 74 00000002")
    value = bytes.fromhex("0001 0000000000000005 0000 0000000000000064 00000000000000c8")
    assert protocol.offsets_record(key, value) == (
        OffsetCommitKey(group="g", topic="t", partition=2),
        (1, OffsetCommitValue(offset=5, commit_timestamp=100, expire_timestamp=200)),
    )
    with pytest.raises(DecodeError, match=r"OffsetCommitValue v9 at byte 0: only versions 0-4 are known"):
        protocol.offsets_record(key, b"\0\x09")


def test_a_tagged_struct_that_may_be_null_is_left_out_when_it_is_new() -> None:
    """Kafka takes a JSON null for no default at all: null travels, as a 0 where a struct has a 1, and a new struct does not."""
    client = MemberMetadata(instance_id=None, rack_id=None, subscribed_topic_regex=None, server_assignor=None)
    absent = bytes.fromhex("00 00 01 01 01 00 ffffffff 00")
    assert protocol.encode(client, 0) == absent + b"\0"
    assert protocol.decode(MemberMetadata, 0, absent + b"\0").classic_member_metadata == MemberMetadata.ClassicMemberMetadata()
    client.classic_member_metadata = None
    assert protocol.encode(client, 0) == absent + bytes.fromhex("01 00 01 00")
    assert protocol.decode(MemberMetadata, 0, absent + bytes.fromhex("01 00 01 00")) == client
    client.classic_member_metadata = MemberMetadata.ClassicMemberMetadata(session_timeout_ms=1)
    assert protocol.encode(client, 0) == absent + bytes.fromhex("01 00 07 01 00000001 01 00")


def test_what_cannot_be_encoded() -> None:
    with pytest.raises(UnsupportedVersionError):
        protocol.encode_versioned(Subscription(), 4)
    with pytest.raises(EncodeError, match="offset is 'x'"):
        protocol.encode_versioned(OffsetCommitValue(offset="x"), 0)
    with pytest.raises(KeyError, match="Nonsense"):
        protocol.data("Nonsense")
