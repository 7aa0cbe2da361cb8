"""Capture files of a TCP connection, made by hand: packets down to the link, pcap and pcapng around them."""

from __future__ import annotations

import struct
from ipaddress import ip_address
from typing import NamedTuple

__all__ = ["BROKER", "CLIENT", "LINKS", "Packet", "Talk", "pcap", "pcapng"]

CLIENT, BROKER = "10.0.0.1:40000", "10.0.0.2:9092"
SYN, ACK = 2, 16
START = 1_700_000_000

IPV4, IPV6 = b"\x08\x00", b"\x86\xdd"


class Packet(NamedTuple):
    """A TCP segment; ends are host:port."""

    src: str
    dst: str
    seq: int
    payload: bytes = b""
    flags: int = ACK


class Talk:
    """A connection whose packets are noted as its ends speak. Sequence numbers begin where the client's soon wrap around."""

    def __init__(self, client: str = CLIENT, broker: str = BROKER, *, opened: bool = True) -> None:
        self.packets: list[Packet] = []
        self._ends = (client, broker)
        self._seq = {client: 0xFFFFFFF0, broker: 1000}
        if opened:
            self._add(client, broker, flags=SYN)
            self._add(broker, client, flags=SYN | ACK)

    def sends(self, *pieces: bytes) -> Talk:
        """The client sends these, a packet each."""
        client, broker = self._ends
        for piece in pieces:
            self._add(client, broker, piece)
        return self

    def answers(self, *pieces: bytes) -> Talk:
        """The broker sends these, a packet each."""
        client, broker = self._ends
        for piece in pieces:
            self._add(broker, client, piece)
        return self

    def _add(self, src: str, dst: str, payload: bytes = b"", flags: int = ACK) -> None:
        self.packets.append(Packet(src, dst, self._seq[src], payload, flags))
        self._seq[src] = (self._seq[src] + len(payload) + (1 if flags & SYN else 0)) % (1 << 32)


def ip(packet: Packet) -> bytes:
    """The IP packet; version 6 has a hop-by-hop header before TCP."""
    (source, source_port), (target, target_port) = (end.rsplit(":", 1) for end in (packet.src, packet.dst))
    tcp = struct.pack(">HHIIBBHHH", int(source_port), int(target_port), packet.seq, 0, 6 << 4, packet.flags, 512, 0, 0)
    tcp += b"\1\1\1\0" + packet.payload
    addresses = ip_address(source.strip("[]")).packed + ip_address(target.strip("[]")).packed
    if len(addresses) == 8:
        return struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + addresses + tcp
    return struct.pack(">IHBB", 6 << 28, 8 + len(tcp), 0, 64) + addresses + b"\6\0\1\4\0\0\0\0" + tcp


def ethernet(packet: Packet, tags: bytes = b"") -> bytes:
    # Short packets are padded on the wire.
    return (bytes(12) + tags + kind(packet) + ip(packet)).ljust(60, b"\xaa")


def kind(packet: Packet) -> bytes:
    return IPV6 if "[" in packet.src else IPV4


LINKS = {
    "ethernet": (1, ethernet),
    "vlan": (1, lambda packet: ethernet(packet, b"\x81\x00\x00\x07")),
    "raw": (101, ip),
    "loopback": (0, lambda packet: b"\2\0\0\0" + ip(packet)),
    "cooked": (113, lambda packet: bytes(14) + kind(packet) + ip(packet)),
    "cooked 2": (276, lambda packet: kind(packet) + bytes(18) + ip(packet)),
}
"""Name -> number of a link type, and what it makes of a packet."""


def pcap(packets: list[Packet], *, order: str = "<", nanoseconds: bool = False, link: str = "ethernet") -> bytes:
    """A packet every millisecond."""
    number, wrap = LINKS[link]
    out = struct.pack(order + "IHHiIII", 0xA1B23C4D if nanoseconds else 0xA1B2C3D4, 2, 4, 0, 0, 65535, number)
    for at, packet in enumerate(packets):
        data = wrap(packet)
        fraction = at * (1_000_000 if nanoseconds else 1_000)
        out += struct.pack(order + "IIII", START, fraction, len(data), len(data)) + data
    return out


def pcapng(packets: list[Packet], *, order: str = "<", link: str = "ethernet") -> bytes:
    """The capture as pcapng with times in milliseconds, by an option of the interface, and with a block of unknown type."""
    number, wrap = LINKS[link]

    def block(type_: int, body: bytes) -> bytes:
        size = 12 + len(body)
        return struct.pack(order + "II", type_, size) + body + struct.pack(order + "I", size)

    out = block(0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack(order + "HHI", number, 0, 0) + struct.pack(order + "HHB3xHH", 9, 1, 3, 0, 0))
    out += block(5, b"statistics??")
    for at, packet in enumerate(packets):
        data = wrap(packet)
        time = START * 1000 + at
        head = struct.pack(order + "5I", 0, time >> 32, time & 0xFFFFFFFF, len(data), len(data))
        out += block(6, head + data.ljust(-(-len(data) // 4) * 4, b"\0"))
    return out
