"""Connecting, for both drivers: resolves a name, tries its addresses in turn, and names all failures in one error.

Written against `net.base`, so resolving waits as everything else does: with a deadline, and open to interrupts.
"""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from kafkawire.addresses import HIGHEST_PORT, format_address
from kafkawire.errors import ConnectError
from kafkawire.net import threads
from kafkawire.net.base import NEVER, Net

__all__ = [
    "AttemptFailed",
    "ResolvedAddress",
    "connect_in_turn",
    "open_socket",
    "reason_of",
    "refuse_self_connect",
]

L = TypeVar("L")


@dataclass(frozen=True, slots=True)
class ResolvedAddress:
    """One answer of getaddrinfo."""

    family: int
    type: int
    protocol: int
    sockaddr: Any

    def __str__(self) -> str:
        return format_address(*self.sockaddr[:2])


class AttemptFailed(Exception):
    """Failure to connect to one address. Not for users: `connect_in_turn` makes one ConnectError of all failures."""

    def __init__(self, stage: str, reason: str, kind: type[ConnectError] = ConnectError) -> None:
        super().__init__(f"{stage}: {reason}")
        self.stage = stage
        self.reason = reason
        self.kind = kind


async def connect_in_turn(
    net: Net, host: str, port: int, deadline: float, attempt: Callable[[ResolvedAddress, float], Awaitable[L]]
) -> L:
    """Resolve, and return the result of the first attempt that succeeds (trap 110: every address, resolved anew each time).

    `attempt` takes an address and the end of its share of the time left, and raises AttemptFailed. Raises ConnectError; its
    class is the one in which all addresses failed that could be connected to.
    """
    addresses = await _resolve(net, host, port, deadline)
    failures: list[tuple[ResolvedAddress, AttemptFailed]] = []
    for index, address in enumerate(addresses):
        left = deadline - net.now()
        if failures and left <= 0:
            failures.append((address, AttemptFailed("connect", "not tried, the time was up")))
            continue
        share = NEVER if deadline == NEVER else net.now() + left / (len(addresses) - index)
        try:
            return await attempt(address, share)
        except AttemptFailed as failure:
            failures.append((address, failure))
    raise _connect_error(host, port, failures)


def _connect_error(host: str, port: int, failures: list[tuple[ResolvedAddress, AttemptFailed]]) -> ConnectError:
    kinds = {failure.kind for _, failure in failures if failure.stage != "connect"}
    kind = kinds.pop() if len(kinds) == 1 else ConnectError
    where = format_address(host, port)
    reasons = "; ".join(str(failure) if str(address) == where else f"{address}: {failure}" for address, failure in failures)
    return kind(f"cannot connect to {where}: {reasons}")


async def _resolve(net: Net, host: str, port: int, deadline: float) -> list[ResolvedAddress]:
    """Resolve a name, in a thread of its own: getaddrinfo obeys neither deadlines nor interrupts."""
    failed = f"cannot connect to {format_address(host, port)}"
    if not 0 < port <= HIGHEST_PORT:
        raise ConnectError(f"{failed}: there is no such port")
    try:
        return _look_up(host, port, socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        pass  # a name, not an address
    answers: list[list[ResolvedAddress] | Exception] = []
    signal = net.signal()

    def look_up() -> None:
        try:
            answers.append(_look_up(host, port))
        except (OSError, UnicodeError) as error:
            answers.append(error)
        signal.set()

    threads.start(look_up, "kafkawire-resolve", brief=True)
    while True:
        signal.clear()
        if answers:
            break
        if not await net.wait(signal, deadline):
            raise ConnectError(f"{failed}: resolve: no answer for the name {host} in the time given")
    answer = answers[0]
    if isinstance(answer, Exception):
        raise ConnectError(f"{failed}: resolve: {reason_of(answer)}") from answer
    return answer


def _look_up(host: str, port: int, flags: int = 0) -> list[ResolvedAddress]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return list(
        dict.fromkeys(ResolvedAddress(family, kind, protocol, sockaddr) for family, kind, protocol, _, sockaddr in found)
    )


def open_socket(address: ResolvedAddress) -> socket.socket:
    """Make a non-blocking socket for an address. The kernel sizes its buffers: setting a size would turn that tuning off.

    Raises AttemptFailed, for one where the system resolves IPv6 addresses but has no IPv6.
    """
    try:
        sock = socket.socket(address.family, address.type, address.protocol)
    except OSError as error:
        raise AttemptFailed("connect", reason_of(error)) from None
    sock.setblocking(False)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return sock


def refuse_self_connect(sock: socket.socket) -> None:
    """Refuse a connection to itself, which a connect to a free local port can make (TCP simultaneous open)."""
    if sock.getsockname() == sock.getpeername():
        raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))


def reason_of(error: Exception) -> str:
    """The text of an exception, without its error number."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
