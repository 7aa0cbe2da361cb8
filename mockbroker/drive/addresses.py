"""Addresses to listen on: checks, and errors that name the address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kafkawire.addresses import HIGHEST_PORT, format_address

__all__ = ["check_port", "listening_on"]


def check_port(port: int) -> None:
    """Raise ValueError for a number that is no port."""
    if not 0 <= port <= HIGHEST_PORT:
        raise ValueError(f"{port} is no port: they go from 0 to {HIGHEST_PORT}")


@contextmanager
def listening_on(host: str, port: int) -> Iterator[None]:
    """Name the address in errors of the block, which binds a socket. Raises OSError, and ValueError for an invalid port."""
    check_port(port)
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {format_address(host, port)}: {error.strerror or error}") from error
