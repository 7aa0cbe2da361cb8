"""Addresses as text, host:port, with IPv6 addresses in brackets: [::1]:9092 (trap 110)."""

from __future__ import annotations

__all__ = ["HIGHEST_PORT", "format_address", "parse_address"]

HIGHEST_PORT = 65_535
"""The highest port number of TCP."""


def format_address(host: str, port: int) -> str:
    """The text of an address, as clients and URLs take it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def parse_address(text: str) -> tuple[str, int]:
    """The host, without brackets, and the port, of whatever range, of an address. Raises ValueError for any other text."""
    host, colon, port = text.strip().rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    if bracketed:
        host = host[1:-1]
    if not colon or not host or (":" in host and not bracketed) or not port.isdecimal():
        raise ValueError(f"{text.strip()!r} is not host:port (IPv6: [address]:port)")
    return host, int(port)
