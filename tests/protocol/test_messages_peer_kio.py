"""Our bytes and kio's are the same, in both directions, for every message and version that both know."""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import io
import typing
import uuid
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.index import UnknownAPIKey, UnknownEntity, load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_reader, entity_writer

from kafkawire import protocol
from kafkawire.protocol import wire
from kafkawire.protocol.schema import Request
from tests.protocol.strategies import CLASSES, messages

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Field, Message, Struct

ERROR_CODES = [code.value for code in ErrorCode]
TIMES = ("timedelta_i64", "datetime_i64")
LARGEST_TIME = 1 << 42
"""Milliseconds. Python's own times, which kio uses, end before the int64 does."""
EPOCH = dt.datetime.fromtimestamp(0, dt.UTC)


@functools.cache
def peer_class(cls: type[Message], version: int) -> Any:
    """The data class that kio has for one version of a message, None where it has none."""
    try:
        return (load_request_schema if issubclass(cls, Request) else load_response_schema)(cls.key, version)
    except (UnknownAPIKey, UnknownEntity):
        return None


SHARED = [cls for cls in CLASSES if any(peer_class(cls, version) for version in cls.versions)]


@functools.cache
def peer_fields(peer: Any) -> list[tuple[str, str | None, Any]]:
    """Name, special type and nested data class of each field, in Kafka's order."""
    hints = typing.get_type_hints(peer)
    return [(f.name, f.metadata.get("kafka_type"), nested_class(hints[f.name])) for f in dataclasses.fields(peer)]


def nested_class(hint: Any) -> Any:
    """The data class in `X`, `X | None`, `tuple[X, ...]` or `tuple[X, ...] | None`."""
    if dataclasses.is_dataclass(hint):
        return hint
    return next((found for part in typing.get_args(hint) if (found := nested_class(part))), None)


def our_fields(struct: Struct, version: int) -> list[Field]:
    return [field for field in type(struct).fields if version in field.versions]


def make_fit(struct: Struct, peer: Any, version: int) -> None:
    """Replace what kio cannot hold: error codes that it does not know, times out of Python's range."""
    for field, (_, kind, nested) in zip(our_fields(struct, version), peer_fields(peer), strict=True):
        value = getattr(struct, field.name)
        if kind == "error_code":
            setattr(struct, field.name, ERROR_CODES[value % len(ERROR_CODES)])
        elif kind in TIMES:
            setattr(struct, field.name, value % LARGEST_TIME)
        elif nested and value is not None:
            for each in value if field.array else [value]:
                make_fit(each, nested, version)


def plain(value: Any) -> Any:
    """A value of kio's as ours."""
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    if isinstance(value, dt.datetime):
        return (value - EPOCH) // dt.timedelta(milliseconds=1)
    if isinstance(value, dt.timedelta):
        return value // dt.timedelta(milliseconds=1)
    return value.bytes if isinstance(value, uuid.UUID) else value


def assert_same(ours: Struct, theirs: Any, version: int) -> None:
    for field, (name, _, nested) in zip(our_fields(ours, version), peer_fields(theirs.__class__), strict=True):
        value, other = getattr(ours, field.name), getattr(theirs, name)
        if not nested:
            assert (wire.ZERO_UUID if other is None and field.element is wire.UUID else plain(other)) == value
        elif value is None:
            assert other is None or (field.optional_tag and other == nested())
        else:
            for one, another in zip(value, other, strict=True) if field.array else [(value, other)]:
                assert_same(one, another, version)


@pytest.mark.parametrize("cls", SHARED, ids=lambda cls: cls.__name__)
@settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_kio_reads_and_writes_the_same_bytes(cls: type[Message], data: st.DataObject) -> None:
    for version in cls.versions:
        peer = peer_class(cls, version)
        if peer is None:
            continue
        message = data.draw(messages(cls, version, unknown_tags=False))
        make_fit(message, peer, version)
        body = protocol.encode(message, version)
        theirs, size = entity_reader(peer)(body, 0)
        assert size == len(body)
        assert_same(message, theirs, version)
        written = io.BytesIO()
        entity_writer(peer)(written, theirs)
        assert written.getvalue() == body
