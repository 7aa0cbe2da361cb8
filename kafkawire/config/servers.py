"""The option bootstrap_servers as addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkawire.errors import ConfigurationError

__all__ = ["parse_servers"]


def parse_servers(servers: str | Sequence[str]) -> list[tuple[str, int]]:
    """Parse `bootstrap_servers` to (host, port) pairs; IPv6 addresses stand in brackets (trap 110).

    Raises ConfigurationError that names the text at fault.
    """
    texts = [text for text in servers.split(",") if text.strip()] if isinstance(servers, str) else servers
    given: Any = texts
    if not isinstance(given, Sequence) or not all(isinstance(text, str) for text in given):
        raise ConfigurationError(f"bootstrap_servers: {servers!r} is neither text nor a list of texts, each host:port")
    pairs = []
    for text in (text.strip() for text in texts):
        host, colon, port = text.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            colon = ""
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ConfigurationError(f"bootstrap_servers: {text!r} is not host:port (IPv6: [address]:port)")
        pairs.append((host, int(port)))
    if not pairs:
        raise ConfigurationError("bootstrap_servers is empty: name at least one host:port")
    return pairs
