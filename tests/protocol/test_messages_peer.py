"""Our bytes and kafka-python's are the same, in both directions, for every message and version that both know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkawire import protocol
from kafkawire.protocol import wire
from tests import requirements
from tests.protocol.strategies import CLASSES, messages

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Field, Message, Struct

# kafka-python reads its schemas in a way that Python 3.11 calls deprecated.
pytestmark = pytest.mark.filterwarnings(r"ignore:\w+_text is deprecated:DeprecationWarning")

BITFIELDS = {"cluster_authorized_operations", "topic_authorized_operations"}
"""Fields of MetadataResponse that kafka-python renames and shows as sets; their bytes are compared all the same."""

MODULES = ("metadata", "consumer", "producer", "admin")


ApiVersionsResponse = protocol.response("ApiVersions")


def peer_class(cls: type[Message]) -> Any:
    """kafka-python's class of the same name."""
    modules = [requirements.peer(f"kafka.protocol.{module}") for module in MODULES]
    return next(getattr(module, cls.__name__) for module in modules if hasattr(module, cls.__name__))


def plain(field: Field, value: Any) -> Any:
    """kafka-python's UUID objects, and its None for the zero UUID, as our 16 bytes."""
    if field.element is wire.UUID:
        return wire.ZERO_UUID if value is None else value.bytes
    return value


def assert_same(ours: Struct, theirs: Any, version: int) -> None:
    for field in type(ours).fields:
        if version in field.versions and field.name not in BITFIELDS:
            assert_same_value(field, getattr(ours, field.name), getattr(theirs, field.name), version)


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


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_kafka_python_reads_and_writes_the_same_bytes(cls: type[Message], data: st.DataObject) -> None:
    peer = peer_class(cls)
    oldest, newest = peer.valid_versions
    for version in range(oldest, newest + 1):
        message = data.draw(messages(cls, version, unknown_tags=False))
        if cls is ApiVersionsResponse:
            message.error_code = 0  # with an error kafka-python takes the body for version 0
        body = protocol.encode(message, version)
        theirs = peer[version].decode(body)
        assert_same(message, theirs, version)
        theirs._header = None  # noqa: SLF001  # a decoded DeleteTopicsRequest lacks it, and then does not encode
        assert bytes(theirs.encode()) == body
