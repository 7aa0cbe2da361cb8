"""Addresses to listen on: their text, and errors that name them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["as_address", "check_port", "listening_on"]

_HIGHEST_PORT = 65_535


def as_address(host: str, port: int) -> str:
    """host:port, as clients take it."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def check_port(port: int) -> None:
    """Raise ValueError for what is no port."""
    if not 0 <= port <= _HIGHEST_PORT:
        raise ValueError(f"{port} is no port: they go from 0 to {_HIGHEST_PORT}")


@contextmanager
def listening_on(host: str, port: int) -> Iterator[None]:
    """Let errors of the block, which binds a socket, say to what. Raises OSError, and ValueError for what is no port."""
    check_port(port)
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {as_address(host, port)}: {error.strerror or error}") from error
