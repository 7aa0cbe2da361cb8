"""Reads capture files: pcap and pcapng down to the TCP segments in them, IPv4 and IPv6."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from ipaddress import ip_address
from typing import BinaryIO, Final, NamedTuple

from kafkawire.addresses import format_address
from kafkawire.errors import DecodeError

__all__ = ["Segment", "is_capture", "segments"]

PCAP: Final = {
    b"\xd4\xc3\xb2\xa1": ("<", 1e-6),
    b"\xa1\xb2\xc3\xd4": (">", 1e-6),
    b"\x4d\x3c\xb2\xa1": ("<", 1e-9),
    b"\xa1\xb2\x3c\x4d": (">", 1e-9),
}
"""First bytes -> byte order, and seconds of one unit of a time's fraction."""
PCAPNG: Final = b"\x0a\x0d\x0d\x0a"
INTERFACE, SIMPLE_PACKET, ENHANCED_PACKET = 1, 3, 6
TSRESOL: Final = 9
"""Option of an interface: the unit of its times."""

MAX_BLOCK: Final = 16 * 1024 * 1024
"""Most bytes of a block, far more than a packet has."""

LINK_HEADERS: Final = {0: (4, None), 1: (14, 12), 12: (0, None), 14: (0, None), 101: (0, None), 108: (4, None), 113: (16, 14),
                       228: (0, None), 229: (0, None), 276: (20, 0)}  # fmt: skip
"""Link type -> bytes before the IP header, and the index of the ether type in them, None without one."""
VLAN: Final = (b"\x81\x00", b"\x88\xa8")
IP_TYPES: Final = (b"\x08\x00", b"\x86\xdd")
TCP: Final = 6
EXTENSIONS: Final = (0, 43, 60)
"""IPv6 headers that may stand before TCP and have a length field."""


class Segment(NamedTuple):
    """A TCP segment."""

    time: float
    """Seconds since the epoch."""
    src: str
    dst: str
    """Address of the receiver, host:port, as `src` of the sender."""
    seq: int
    syn: bool
    ack: bool
    payload: bytes


def is_capture(start: bytes) -> bool:
    """True if a file with this beginning is a capture."""
    return start[:4] in PCAP or start[:4] == PCAPNG


def segments(stream: BinaryIO) -> Iterator[Segment]:
    """The TCP segments of a capture, in its order, without other packets. Raises DecodeError where it is damaged."""
    magic = stream.read(4)
    packets = _pcap(stream, *PCAP[magic]) if magic in PCAP else _pcapng(stream)
    for time, link, packet in packets:
        segment = _segment(time, _ip_packet(link, packet))
        if segment is not None:
            yield segment


def _take(stream: BinaryIO, size: int, position: int) -> bytes:
    if not 0 <= size <= MAX_BLOCK:
        raise DecodeError(f"a packet of {size} bytes in the capture", offset=position)
    data = stream.read(size)
    if len(data) < size:
        raise DecodeError(f"the capture ends after {len(data)} of {size} bytes", offset=position + len(data))
    return data


def _pcap(stream: BinaryIO, order: str, unit: float) -> Iterator[tuple[float, int, bytes]]:
    link = struct.unpack(order + "16xI", _take(stream, 20, 4))[0] & 0xFFFF
    position = 24
    while start := stream.read(1):
        seconds, fraction, size, _ = struct.unpack(order + "4I", start + _take(stream, 15, position + 1))
        yield seconds + fraction * unit, link, _take(stream, size, position + 16)
        position += 16 + size


def _pcapng(stream: BinaryIO) -> Iterator[tuple[float, int, bytes]]:
    order, position = "<", 0
    interfaces: list[tuple[int, float]] = []
    first = PCAPNG  # the caller has read that
    while first:
        head = first + _take(stream, 8 - len(first), position + len(first))
        start = b""
        if head[:4] == PCAPNG:  # the next bytes tell the byte order, that of the size before them too
            start = _take(stream, 4, position + 8)
            order = "<" if start == b"\x4d\x3c\x2b\x1a" else ">"
            interfaces = []
        kind, size = struct.unpack(order + "II", head)
        body = start + _take(stream, size - 8 - len(start), position + 8 + len(start))
        try:
            if kind == INTERFACE:
                interfaces.append((struct.unpack_from(order + "H", body)[0], _unit(order, body)))
            elif kind == ENHANCED_PACKET:
                number, high, low, length = struct.unpack_from(order + "4I", body)
                link, unit = interfaces[number]
                yield ((high << 32) + low) * unit, link, body[20 : 20 + length]
            elif kind == SIMPLE_PACKET:
                yield 0.0, interfaces[0][0], body[4:-4]
        except (struct.error, IndexError):
            raise DecodeError(f"a malformed block of type {kind} in the capture", offset=position) from None
        position += size
        first = stream.read(1)


def _unit(order: str, interface: bytes) -> float:
    """Seconds in the unit of an interface's times."""
    at = 8
    while at + 4 <= len(interface):
        code, size = struct.unpack_from(order + "HH", interface, at)
        if code == TSRESOL and size:
            value = interface[at + 4]
            return float(2.0 ** -(value & 0x7F) if value & 0x80 else 10.0**-value)
        at += 4 + size + -size % 4
    return 1e-6


def _ip_packet(link: int, packet: bytes) -> bytes:
    """The IP packet in a frame of the link; empty if it holds something else."""
    size, type_at = LINK_HEADERS.get(link, (len(packet), None))
    if type_at is not None:
        while link == 1 and packet[type_at : type_at + 2] in VLAN:
            type_at, size = type_at + 4, size + 4
        if packet[type_at : type_at + 2] not in IP_TYPES:
            return b""
    return packet[size:]


def _segment(time: float, ip: bytes) -> Segment | None:
    """The TCP segment in an IP packet that is not a fragment; None for anything else."""
    try:
        if ip and ip[0] >> 4 == 4:
            start, total = (ip[0] & 0x0F) * 4, int.from_bytes(ip[2:4])
            if ip[9] != TCP or int.from_bytes(ip[6:8]) & 0x3FFF:
                return None
            source, target = ip[12:16], ip[16:20]
        elif ip and ip[0] >> 4 == 6:
            kind, start, total = ip[6], 40, int.from_bytes(ip[4:6]) and 40 + int.from_bytes(ip[4:6])
            while kind in EXTENSIONS:
                kind, start = ip[start], start + 8 + ip[start + 1] * 8
            if kind != TCP:
                return None
            source, target = ip[8:24], ip[24:40]
        else:
            return None
        tcp = ip[start : total or None]  # padding follows; the length is 0 where the network card fills it in
        source_port, target_port, seq, offset, flags = struct.unpack_from(">HHI4xBB", tcp)
    except (struct.error, IndexError):
        return None
    payload = tcp[(offset >> 4) * 4 :]
    return Segment(time, _end(source, source_port), _end(target, target_port), seq, bool(flags & 2), bool(flags & 16), payload)


def _end(address: bytes, port: int) -> str:
    return format_address(str(ip_address(address)), port)
