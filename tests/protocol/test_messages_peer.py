"""Our bytes and kafka-python's are the same, in both directions, for every message and version that both know."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkawire import protocol
from kafkawire.protocol import wire
from tests.protocol.strategies import CLASS_VERSIONS, CLASSES, messages

with warnings.catch_warnings():
    # kafka-python loads its schemas by a deprecated call of importlib.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol import admin, consumer, metadata, old, producer, sasl

    OLD_MODULES = [importlib.import_module(f"{old.__name__}.{found.name}") for found in pkgutil.iter_modules(old.__path__)]

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.protocol.schema import Field, Message, Struct

few_examples = settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])

PEERS = {
    cls: peer
    for cls in CLASSES
    for module in (admin, consumer, metadata, producer, sasl)
    if (peer := getattr(module, cls.__name__, None)) is not None
}
"""kafka-python's classes, one for all versions, made from Kafka's own definitions."""

WRONG_OLD_PEERS = {
    "DescribeAclsRequest_v2": "is the flexible version, written here as the one before it",
    "DescribeAclsResponse_v2": "is the flexible version, written here as the one before it",
    "DescribeLogDirsRequest_v0": "has an array of partitions, written here as one number",
}
"""Against Kafka's own definitions; kafka-python's newer classes agree with those."""

OLD_PEERS = {
    (cls, version): peer
    for cls, version in CLASS_VERSIONS
    for module in OLD_MODULES
    if f"{cls.__name__}_v{version}" not in WRONG_OLD_PEERS
    and (peer := getattr(module, f"{cls.__name__}_v{version}", None)) is not None
}
"""The classes that it had before, one for each version, written by hand; they know versions that Kafka has removed."""

BITFIELDS = {"cluster_authorized_operations", "topic_authorized_operations", "authorized_operations"}
"""Fields that kafka-python renames or shows as sets; their bytes are compared all the same."""

FORMER_NAMES = {("TxnOffsetCommitRequest", "generation_id_or_member_epoch"): "generation_id"}
"""Former names of fields that Kafka renamed."""

ApiVersionsResponse = protocol.response("ApiVersions")


def drawn(data: st.DataObject, cls: type[Message], version: int) -> Any:
    message = data.draw(messages(cls, version, unknown_tags=False))
    if cls is ApiVersionsResponse:
        message.error_code = 0  # with an error kafka-python takes the body for version 0
    return message


def plain(field: Field, value: Any) -> Any:
    """kafka-python's UUID objects, and its None for the zero UUID, as our 16 bytes."""
    if field.element is wire.UUID:
        return wire.ZERO_UUID if value is None else value.bytes
    return value


def assert_same(ours: Struct, theirs: Any, version: int) -> None:
    for field in type(ours).fields:
        if version in field.versions and field.name not in BITFIELDS:
            name = FORMER_NAMES.get((type(ours).__name__, field.name), field.name)
            assert_same_value(field, getattr(ours, field.name), getattr(theirs, name), version)


def assert_same_value(field: Field, ours: Any, theirs: Any, version: int) -> None:
    if ours is None or (theirs is None and field.element is not wire.UUID):
        assert ours is theirs is None
    elif field.array:
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            if isinstance(field.element, type):
                assert_same(one, other, version)
            else:
                assert one == plain(field, other)
    elif isinstance(field.element, type):
        assert_same(ours, theirs, version)
    else:
        assert ours == plain(field, theirs)


@pytest.mark.parametrize("cls", PEERS, ids=lambda cls: cls.__name__)
@few_examples
@given(data=st.data())
def test_kafka_python_reads_and_writes_the_same_bytes(cls: type[Message], data: st.DataObject) -> None:
    peer = PEERS[cls]
    oldest, newest = peer.valid_versions
    for version in range(oldest, newest + 1):
        message = drawn(data, cls, version)
        body = protocol.encode(message, version)
        theirs = peer[version].decode(body)
        assert_same(message, theirs, version)
        theirs._header = None  # noqa: SLF001  # a decoded DeleteTopicsRequest lacks it, and then does not encode
        assert bytes(theirs.encode()) == body


def our_leaves(struct: Struct, version: int) -> Iterator[Any]:
    """Every value that is not tagged in wire order, with the length before an array."""
    for field in type(struct).fields:
        value = getattr(struct, field.name)
        if version not in field.versions or field.tag is not None:
            continue
        if field.name in BITFIELDS:
            value = None
        if field.array and value is not None:
            yield len(value)
        for each in value if field.array and value is not None else [value]:
            if isinstance(field.element, type) and each is not None:
                yield from our_leaves(each, version)
            else:
                yield each


def old_leaves(value: Any) -> Iterator[Any]:
    """Values that an old schema has read, in comparable form: structs are tuples, bits are sets, tagged fields are dicts."""
    if isinstance(value, list):
        yield len(value)
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from old_leaves(each)
    elif not isinstance(value, dict):
        yield None if isinstance(value, set) else value


@pytest.mark.parametrize(("cls", "version"), OLD_PEERS, ids=lambda value: getattr(value, "__name__", value))
@few_examples
@given(data=st.data())
def test_old_schemas_of_kafka_python_have_the_same_bytes(cls: type[Message], version: int, data: st.DataObject) -> None:
    peer = OLD_PEERS[cls, version]
    message = drawn(data, cls, version)
    body = protocol.encode(message, version)
    theirs = peer.decode(body)
    assert list(old_leaves(tuple(getattr(theirs, name) for name in peer.SCHEMA.names))) == list(our_leaves(message, version))
    assert theirs.encode() == body
