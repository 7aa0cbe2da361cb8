"""The option bootstrap_servers as addresses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kafkawire.addresses import HIGHEST_PORT, parse_address
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
    for text in texts:
        try:
            host, port = parse_address(text)
        except ValueError as error:
            raise ConfigurationError(f"bootstrap_servers: {error}") from None
        if not 0 < port <= HIGHEST_PORT:
            raise ConfigurationError(f"bootstrap_servers: {text!r} is not host:port with a port between 1 and {HIGHEST_PORT}")
        pairs.append((host, port))
    if not pairs:
        raise ConfigurationError("bootstrap_servers is empty: name at least one host:port")
    return pairs
