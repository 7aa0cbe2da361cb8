"""Client of one connection, as the broker knows it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Client"]


@dataclass(slots=True)
class Client:
    """Client of one connection."""

    connection: int
    """Number of the connection: those of a cluster are numbered in the order in which they were made."""
    host: str = "127.0.0.1"
    """Address that the client connects from."""
    software_name: str = ""
    """Name that the client gave in ApiVersions, since version 3 (KIP-511)."""
    software_version: str = ""
