"""Hypothesis strategies for messages, made from the declarations: values that a version can carry, defaults elsewhere."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from kafkawire import protocol
from kafkawire.protocol import wire
from kafkawire.protocol.messages import API_KEYS
from kafkawire.protocol.schema import Field, Message, Struct

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Wire

__all__ = ["CLASSES", "CLASS_VERSIONS", "messages"]

CLASSES: list[type[Message]] = [make(name) for name in API_KEYS for make in (protocol.request, protocol.response)]
CLASS_VERSIONS = [(cls, version) for cls in CLASSES for version in cls.versions]

INTEGER_BITS = {"b": 8, "h": 16, "i": 32, "q": 64}
UNKNOWN_TAGS = st.none() | st.dictionaries(st.integers(100, 300), st.binary(max_size=5), min_size=1, max_size=2)


@functools.cache
def messages(cls: type[Message], version: int, *, unknown_tags: bool = True) -> st.SearchStrategy[Any]:
    """Messages of one version that encoding and decoding must bring back unchanged."""
    flexible = cls.flexible is not None and version >= cls.flexible
    return structs(cls, version, unknown_tags=unknown_tags and flexible)


def structs(cls: type[Struct], version: int, *, unknown_tags: bool) -> st.SearchStrategy[Any]:
    values = {f.name: values_of(f, version, unknown_tags=unknown_tags) for f in cls.fields if version in f.versions}
    tags = {"unknown_tags": UNKNOWN_TAGS} if unknown_tags else {}
    return st.builds(cls, **values, **tags)


def values_of(field: Field, version: int, *, unknown_tags: bool) -> st.SearchStrategy[Any]:
    if isinstance(field.element, type):
        element = structs(field.element, version, unknown_tags=unknown_tags)
    else:
        element = primitives(field.element)
    found = st.lists(element, max_size=3) if field.array else element
    if field.optional_tag:  # sent at its default it comes back as not sent
        default = field.element()  # type: ignore[operator]
        found = found.filter(lambda value: value != default)
    return st.none() | found if version in field.nullable or field.optional_tag else found


def primitives(kind: Wire) -> st.SearchStrategy[Any]:
    if kind is wire.STRING:
        return st.text(max_size=8) | st.just("x" * 200)
    if kind in (wire.BYTES, wire.RECORDS):
        return st.binary(max_size=20) | st.just(bytes(300))
    if kind is wire.UUID:
        return st.binary(min_size=16, max_size=16)
    if kind.code == "?":
        return st.booleans()
    if kind.code == "H":
        return st.integers(0, 0xFFFF)
    if kind.code == "d":
        return st.floats(allow_nan=False)
    half = 1 << (INTEGER_BITS[kind.code] - 1)
    return st.integers(-half, half - 1)
