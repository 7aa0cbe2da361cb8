"""What a broker knows about the other end of one connection."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Client"]


@dataclass(slots=True)
class Client:
    """A client, as far as its connection tells."""

    connection: int
    """Connections of a cluster are numbered in the order in which they were made."""
    host: str = "127.0.0.1"
    """The address that it connects from."""
    software_name: str = ""
    """As told in ApiVersions since version 3 (KIP-511)."""
    software_version: str = ""
