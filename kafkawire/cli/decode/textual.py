"""Bytes that are given as text: hex, base64, and what xxd, hexdump -C, tcpdump -X and Wireshark print."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable
from typing import Final

from kafkawire.protocol.wire import Buffer

__all__ = ["from_text", "is_text"]

TEXT: Final = frozenset(b"\t\n\r" + bytes(range(0x20, 0x7F)))
DUMPED: Final = re.compile(
    r"(?:0x)?([0-9a-f]{4,})(?:: *((?:[0-9a-f]{2} ?)*)|  +((?:[0-9a-f]{2} {0,2})*)|)(?=[ |]|$)", re.IGNORECASE
)
"""A line of a dump: its offset and its bytes. After a colon (xxd) two spaces end them, without one (hexdump) three."""


def is_text(start: Buffer) -> bool:
    """True if input with this beginning is text. Frames, batches and captures are not: they have a control byte early."""
    return len(start) > 0 and TEXT.issuperset(start)


def from_text(text: str) -> bytes:
    """The bytes that a text stands for. Raises ValueError for what is neither a dump nor hex nor base64."""
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    first = DUMPED.match(lines[0]) if lines else None
    if first is not None and int(first[1], 16) == 0 and (first[2] or first[3]):
        return _from_dump(lines)
    digits = re.sub(r"[\s:]|^0x", "", text)
    try:
        return bytes.fromhex(digits)
    except ValueError:
        pass
    try:
        return b64decode(digits, validate=True)
    except binascii.Error:
        raise ValueError("it is no hex and no base64") from None


def _from_dump(lines: Iterable[str]) -> bytes:
    """The offset of each line must be the number of bytes before it, so that no line is missing and none read too far."""
    data = b""
    for line in lines:
        found = DUMPED.match(line)
        if found is None or int(found[1], 16) != len(data):
            advice = " (hexdump -v leaves out none)" if line == "*" else ""
            raise ValueError(f"after {len(data)} bytes of a dump there should be the line of that offset, not {line!r}{advice}")
        data += bytes.fromhex(found[2] or found[3] or "")
    return data
