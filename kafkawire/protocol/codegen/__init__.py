"""Compiles declarations: one straight-line decode and one encode function per (message, version), on first use.

Generated code has no version tests; runs of fixed-width fields, with the length of what follows them, are one
`struct` call; arrays of fixed-width elements share that call with the fields behind them, and arrays of structs with nothing
but such fields are read by one; nested structs are inlined; and tagged fields cost one comparison while there are none. To
read the code of a version: `print(codegen.decoder_source(MetadataResponse, 12))`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from kafkawire.errors import UnsupportedVersionError
from kafkawire.protocol.codegen.decoder import DecoderBuilder
from kafkawire.protocol.codegen.encoder import EncoderBuilder

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.protocol.schema import Message
    from kafkawire.protocol.wire import Buffer

    Decode = Callable[[Buffer, int], tuple[Any, int]]
    Encode = Callable[[Any], list[Buffer]]

__all__ = ["decoder", "decoder_source", "encoder", "encoder_source"]


@cache
def decoder(cls: type[Message], version: int) -> Decode:
    """`decode(data, pos) -> (message, end)` for one version; raises DecodeError.

    Raises UnsupportedVersionError for a version that is not declared, as `encoder` does.
    """
    _check_version(cls, version)
    builder = DecoderBuilder(cls, version)
    decode: Decode = builder.compile("decode")
    return decode


@cache
def encoder(cls: type[Message], version: int) -> Encode:
    """`encode(message) -> parts` for one version; raises any exception for a wrong value."""
    _check_version(cls, version)
    builder = EncoderBuilder(cls, version)
    encode: Encode = builder.compile("encode")
    return encode


def decoder_source(cls: type[Message], version: int) -> str:
    """Source of the generated decoder."""
    return DecoderBuilder(cls, version).source()


def encoder_source(cls: type[Message], version: int) -> str:
    """Source of the generated encoder."""
    return EncoderBuilder(cls, version).source()


def _check_version(cls: type[Message], version: int) -> None:
    if version not in cls.versions:
        raise UnsupportedVersionError(f"{cls.__name__} is known in versions {cls.versions}, not {version}")
