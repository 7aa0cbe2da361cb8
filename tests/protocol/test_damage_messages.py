"""Damaged messages, of every kind and version: one kind of error, and no allocation that the bytes do not justify."""

from __future__ import annotations

import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire import protocol
from kafkawire.errors import DecodeError
from kafkawire.protocol import codegen
from tests import requirements
from tests.protocol.formats import FORMATS
from tests.protocol.message_samples import full_message, is_flexible
from tests.protocol.strategies import CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.protocol.schema import Message

every_message = pytest.mark.parametrize("cls", [*CLASSES, *FORMATS], ids=lambda cls: cls.__name__)

LONGEST = {False: bytes.fromhex("7fffffff"), True: bytes.fromhex("ffffffff0f")}
"""The largest length that the bytes at any place can be taken for: int32 or int16; in flexible versions a varint."""

MOST_MEMORY = 512 * 1024
"""Bytes that decoding a few hundred may take; an absurd length taken at its word costs 256 MB and more."""
MOST_PER_BYTE = 400
"""Bytes of Python objects for one byte: an empty struct is a byte or two on the wire."""


def versions(cls: type[Message]) -> list[int]:
    """Versions to damage: all in CI, elsewhere the first and the last, which is flexible."""
    found = list(cls.versions)
    return found if requirements.CI else sorted({found[0], found[-1]})


def bodies(cls: type[Message]) -> Iterator[tuple[int, Any, bytes]]:
    for version in versions(cls):
        message = full_message(cls, version)
        yield version, message, protocol.encode(message, version)


def decode_error(cls: type[Message], version: int, data: bytes) -> DecodeError | None:
    """The error for damaged bytes, which may be none; its particulars must be right."""
    try:
        protocol.decode(cls, version, data)
    except DecodeError as error:
        refused = error
    else:
        return None
    assert (refused.api, refused.version) == (cls.__name__, version)
    assert refused.offset is not None
    assert 0 <= refused.offset <= len(data)
    return refused


@every_message
def test_a_message_cut_off_at_any_byte(cls: type[Message]) -> None:
    for version, message, body in bodies(cls):
        assert protocol.decode(cls, version, body) == message
        for end in range(len(body)):
            assert decode_error(cls, version, body[:end]), f"v{version}, {end} of {len(body)} bytes"


@every_message
def test_absurd_lengths_anywhere_cost_no_memory(cls: type[Message]) -> None:
    for version, _, body in bodies(cls):
        codegen.decoder(cls, version)  # what compiling it takes is no part of this
        longest = LONGEST[is_flexible(cls, version)]
        for at in range(len(body)):
            damaged = body[:at] + longest + body[at + len(longest) :]
            assert peak_memory(cls, version, damaged) < MOST_MEMORY, f"v{version}: {damaged.hex()}"


@every_message
@pytest.mark.parametrize("byte", [0, 1, 2, 0x7F, 0x80, 0xFF])
def test_many_bytes_of_one_value_cost_little_memory(cls: type[Message], byte: int) -> None:
    """Zeros are the shortest of everything: as many elements as bytes allow."""
    for version in versions(cls):
        codegen.decoder(cls, version)
        for prefix in (b"", b"\0\0\x0f\xff", b"\0\0\0\x0f\xff", b"\0\0\0\0\0\0\x0f\xff"):
            data = prefix + bytes([byte]) * 8192
            assert peak_memory(cls, version, data) < MOST_PER_BYTE * len(data), f"v{version}, {prefix.hex()}"


def peak_memory(cls: type[Message], version: int, data: bytes) -> int:
    """The most bytes in use at once while `data` is decoded, as far as it goes."""
    tracemalloc.start()
    try:
        decode_error(cls, version, data)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
