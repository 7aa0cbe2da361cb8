"""What faults do: one class per kind, each with what it does at the points of a request's way through the connection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from struct import Struct as Packer
from typing import TYPE_CHECKING, Any, ClassVar

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.fetch import FetchResponse
from mockbroker.arguments import Int32, Seconds, Size
from mockbroker.broker.answers import CLOSE, HANG, Silence
from mockbroker.broker.observers import When
from mockbroker.state.timers import NEVER
from mockbroker.state.waiting import Watchers

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Response
    from kafkawire.protocol.wire import Buffer
    from mockbroker.broker.exchange import Exchange

__all__ = [
    "ACTIONS",
    "Action",
    "Corrupt",
    "Cut",
    "Delay",
    "Disconnect",
    "Drop",
    "Fail",
    "Flip",
    "Hold",
    "Mismatch",
    "Split",
    "Throttle",
]

_CORRELATION_ID = Packer(">i")
_CORRELATION_ID_AT = 4
_BATCH_LENGTH = Packer(">i")
_BATCH_LENGTH_AT = 8  # in every record format


class Action:
    """A kind of fault. Of these points, in the order in which a request passes them, each kind has something to do at some."""

    __slots__ = ()

    only: ClassVar[str | None] = None
    """The only API that this kind of fault applies to; None: any."""

    def wait(self, when: When, exchange: Exchange, now: float) -> tuple[float, Sequence[Watchers]] | None:
        """Until when, or until which of these wakes, the request or its answer is to be kept waiting."""
        return None

    def silence(self, when: When) -> Silence | None:
        """What comes instead of handling or answering the request."""
        return None

    def change(self, response: Response) -> None:
        """Change the answer."""

    def mangle(self, frame: bytes) -> bytes:
        """What to send in place of the answer's frame."""
        return frame

    def pieces(self, frame: bytes) -> tuple[Sequence[bytes], float]:
        """The frame in pieces, and the seconds between them."""
        return [frame], 0.0

    @property
    def closes(self) -> bool:
        """Whether the connection ends with the answer."""
        return False

    @property
    def mutes(self) -> float:
        """Seconds for which nothing more is served on the connection after the answer."""
        return 0.0


@dataclass(frozen=True, slots=True)
class Fail(Action):
    """Answer with an error code: the handlers put it where the API has room for one."""

    error: ErrorCode


@dataclass(frozen=True, slots=True)
class Delay(Action):
    """Hold the answer back, and with it whatever is queued behind it on the connection."""

    seconds: Seconds
    when: When = "after"

    def wait(self, when: When, exchange: Exchange, now: float) -> tuple[float, Sequence[Watchers]] | None:
        return (now + self.seconds, ()) if when == self.when else None


@dataclass(eq=False, slots=True)
class Hold(Action):
    """As a delay, until somebody lets the request go."""

    when: When = "before"
    _held: dict[Any, Watchers] = field(init=False, repr=False, default_factory=dict)
    arrived: int = field(init=False, repr=False, default=0)
    """How many were held in all."""

    def wait(self, when: When, exchange: Exchange, now: float) -> tuple[float, Sequence[Watchers]] | None:
        if when != self.when:
            return None
        self.arrived += 1
        self._held = {one: watchers for one, watchers in self._held.items() if watchers}  # clients that have gone are let go
        self._held[exchange] = Watchers()
        return NEVER, [self._held[exchange]]

    @property
    def held(self) -> list[Exchange]:
        """Those that are held now, oldest first. Clients that have gone are not."""
        return [exchange for exchange, watchers in list(self._held.items()) if watchers]

    def release(self, count: int | None) -> None:
        """Let the oldest so many go, or all."""
        for exchange in self.held[:count]:
            self._held.pop(exchange).wake()


@dataclass(frozen=True, slots=True)
class Drop(Action):
    """Never answer. As the broker serves a connection in order, nothing behind the request is answered either."""

    when: When = "after"

    def silence(self, when: When) -> Silence | None:
        return HANG if when == self.when else None


@dataclass(frozen=True, slots=True)
class Disconnect(Action):
    """Close the connection instead of answering."""

    when: When = "before"

    def silence(self, when: When) -> Silence | None:
        return CLOSE if when == self.when else None


@dataclass(frozen=True, slots=True)
class Throttle(Action):
    """Answer at once, with a throttle time for the client to keep to, and serve nothing more until then (KIP-219).

    Versions without the field keep the time to themselves.
    """

    throttle_time_ms: Int32

    def change(self, response: Response) -> None:
        if hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = self.throttle_time_ms

    @property
    def mutes(self) -> float:
        return self.throttle_time_ms / 1000


@dataclass(frozen=True, slots=True)
class Corrupt(Action):
    """Flip a bit in the first record batch of every partition that the answer brings, so that its checksum is wrong."""

    only: ClassVar[str | None] = "Fetch"

    def change(self, response: Response) -> None:
        if isinstance(response, FetchResponse):
            for topic in response.responses:
                for partition in topic.partitions:
                    if partition.records:
                        partition.records = _damaged_batch(partition.records)


@dataclass(frozen=True, slots=True)
class Mismatch(Action):
    """Answer under another correlation id: the request's, plus `by`."""

    by: int = 1

    def mangle(self, frame: bytes) -> bytes:
        (number,) = _CORRELATION_ID.unpack_from(frame, _CORRELATION_ID_AT)
        other = _CORRELATION_ID.pack((number + self.by + 2**31) % 2**32 - 2**31)
        return frame[:_CORRELATION_ID_AT] + other + frame[_CORRELATION_ID_AT + 4 :]


@dataclass(frozen=True, slots=True)
class Flip(Action):
    """Invert one byte of the answer: `at` counts from the 4-byte size on, negative from the end."""

    at: int = -1

    def mangle(self, frame: bytes) -> bytes:
        damaged = bytearray(frame)
        damaged[self.at % len(frame)] ^= 0xFF
        return bytes(damaged)


@dataclass(frozen=True, slots=True)
class Cut(Action):
    """Send only so many bytes of the answer, its 4-byte size included, then close the connection."""

    after_bytes: Int32

    def mangle(self, frame: bytes) -> bytes:
        return frame[: self.after_bytes]

    @property
    def closes(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Split(Action):
    """Send the answer in pieces of so many bytes, with a pause (seconds) before each but the first."""

    size: Size
    pause: Seconds = 0.001

    def pieces(self, frame: bytes) -> tuple[Sequence[bytes], float]:
        return [frame[at : at + self.size] for at in range(0, len(frame), self.size)], self.pause


_KINDS: list[type[Any]] = [
    Fail,
    Delay,
    Hold,
    Drop,
    Disconnect,
    Throttle,
    Corrupt,
    Mismatch,
    Flip,
    Cut,
    Split,
]

ACTIONS = {kind.__name__.lower(): kind for kind in _KINDS}
"""All kinds by the names that `MockCluster` and the control port know them by."""


def _damaged_batch(records: Buffer) -> bytes:
    data = bytearray(records)
    (length,) = _BATCH_LENGTH.unpack_from(data, _BATCH_LENGTH_AT)
    data[min(_BATCH_LENGTH_AT + 4 + length, len(data)) - 1] ^= 1
    return bytes(data)
