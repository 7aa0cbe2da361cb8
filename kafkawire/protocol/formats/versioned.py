"""Kafka's version-prefixed form: an int16 version, then a message of that version up to the end."""

from __future__ import annotations

from struct import Struct as Packer
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from kafkawire.errors import DecodeError
from kafkawire.protocol import codegen
from kafkawire.protocol.codec import decode, encode
from kafkawire.protocol.schema import Message

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer

__all__ = ["Versioned", "decode_versioned", "encode_versioned", "read_int16"]

M = TypeVar("M", bound=Message)

INT16 = Packer(">h")


class Versioned(NamedTuple, Generic[M]):
    """A message, and the version that preceded it."""

    version: int
    message: M


def encode_versioned(message: Message, version: int) -> bytes:
    """Encode the version and the message. Raises EncodeError, UnsupportedVersionError."""
    return INT16.pack(version) + encode(message, version)


def decode_versioned(cls: type[M], data: Buffer, *, newer: bool = False, prefix: int = INT16.size) -> Versioned[M]:
    """Decode the version and the message that fill `data`. Raises DecodeError, also for a version that is not declared.

    newer: read a version above the declared ones as the newest of them and leave the bytes behind, as Java does where only
    fields at the end may be added (trap 88). prefix: index of the message; 0 if the version is itself its first field.
    """
    version = read_int16(data, cls.__name__)
    if newer and version > cls.versions.max:
        return Versioned(version, codegen.decoder(cls, cls.versions.max)(data, prefix)[0])
    if version not in cls.versions:
        raise DecodeError(f"only versions {cls.versions} are known", api=cls.__name__, version=version, offset=0)
    return Versioned(version, decode(cls, version, data, prefix))


def read_int16(data: Buffer, api: str) -> int:
    """The int16 at the beginning of `data`. Raises DecodeError."""
    if len(data) < INT16.size:
        raise DecodeError(f"{len(data)} bytes are too few for the number before a {api}", offset=0)
    number: int = INT16.unpack_from(data)[0]
    return number
