"""The index of aborted transactions that a broker keeps beside a segment (`.txnindex`), as lines: one a transaction."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, Final

from kafkawire import protocol
from kafkawire.cli.decode.values import Line
from kafkawire.errors import DecodeError

__all__ = ["aborted_lines"]

ABORTED: Final = protocol.data("AbortedTxn")
ENTRY_SIZE: Final = len(protocol.encode_versioned(ABORTED(), 0))


def aborted_lines(stream: BinaryIO) -> Iterator[Line]:
    """The entries of a stream, each with the byte where it begins. Raises DecodeError where one is cut off or not known."""
    position = 0
    while entry := stream.read(ENTRY_SIZE):
        if len(entry) < ENTRY_SIZE:
            raise DecodeError(f"the last entry is cut off after {len(entry)} of {ENTRY_SIZE} bytes", offset=position)
        try:
            version, transaction = protocol.decode_versioned(ABORTED, entry)
        except DecodeError as error:
            raise DecodeError(error.reason, api=error.api, version=error.version, offset=position) from None
        yield {"position": position, "version": version, "aborted": protocol.to_dict(transaction)}
        position += ENTRY_SIZE
