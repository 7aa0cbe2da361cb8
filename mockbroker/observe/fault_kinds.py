"""Kinds of faults: one class each, with its name, its parameters and its effects."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from struct import Struct as Packer
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, ParamSpec, TypeVar, Unpack

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.fetch import FetchResponse
from mockbroker.arguments import Count, Int32, Seconds, Size, check_argument
from mockbroker.broker.answers import CLOSE, HANG, Silence
from mockbroker.broker.observers import InjectedError, When
from mockbroker.observe.fault import Fault, Rule
from mockbroker.observe.selection import Api
from mockbroker.state.timers import NEVER
from mockbroker.state.waiting import Watchers

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Response
    from kafkawire.protocol.wire import Buffer
    from mockbroker.broker.exchange import Exchange

__all__ = [
    "Barrier",
    "Corrupt",
    "Cut",
    "Delay",
    "Disconnect",
    "Drop",
    "Fail",
    "FaultMethods",
    "Flip",
    "Mismatch",
    "Split",
    "Throttle",
]

_CORRELATION_ID = Packer(">i")
_CORRELATION_ID_AT = 4
_BATCH_LENGTH = Packer(">i")
_BATCH_LENGTH_AT = 8  # in every record format

P = ParamSpec("P")
F = TypeVar("F", bound=Fault)


class Fail(Fault, name="fail"):
    """Answer with an error code, for the selected topics and partitions where the API has room for one each.

    error: the code in the response.
    """

    def __init__(self, api: Api, error: ErrorCode, **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.error = error

    @property
    def injected_error(self) -> InjectedError:
        return InjectedError(self.error, self._rule.get("topic"), self._rule.get("partition"))


class Delay(Fault, name="delay"):
    """Hold the request or its response back for a time, and with it everything behind it on the connection.

    seconds: how long. when: "before" the broker handles the request, or "after".
    """

    def __init__(self, api: Api, seconds: Seconds, *, when: When = "after", **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.seconds = seconds
        self.when = when

    def hold_back(self, when: When, exchange: Exchange, now: float) -> tuple[float, Sequence[Watchers]] | None:
        return (now + self.seconds, ()) if when == self.when else None


class Barrier(Fault, name="hold"):
    """Hold requests or their responses back until the test releases them. The end of a `with` block releases all.

    when: "before" the broker handles the request, or "after".
    """

    def __init__(self, api: Api, *, when: When = "before", **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.when = when
        self._held: dict[Exchange, Watchers] = {}
        """Requests held back, oldest first. A request whose client has gone has no watcher left."""
        self._arrived = 0

    def hold_back(self, when: When, exchange: Exchange, now: float) -> tuple[float, Sequence[Watchers]] | None:
        if when != self.when:
            return None
        self._arrived += 1
        self._held = {held: watchers for held, watchers in self._held.items() if watchers}
        self._held[exchange] = Watchers()
        return NEVER, [self._held[exchange]]

    @property
    def held(self) -> list[Exchange]:
        """The requests held back now, oldest first, without those whose client has gone."""
        return self._driver.call(self._still_held)

    def _still_held(self) -> list[Exchange]:
        return [exchange for exchange, watchers in self._held.items() if watchers]

    def release(self, count: int | None = None) -> None:
        """Release the oldest `count` requests, and hold others back; without a count release all, and let further ones pass."""
        if count is None:
            self._driver.call(self._clear)
        else:
            check_argument("count", count, Count)
            self._driver.call(lambda: self._release(count))

    def _release(self, count: int | None) -> None:
        for exchange in self._still_held()[:count]:
            self._held.pop(exchange).wake()

    def _clear(self) -> None:
        super()._clear()
        self._release(None)

    @property
    def _reached(self) -> int:
        """Number of requests that were held back: a fault that waits first may have fired without one being here."""
        return self._arrived


class Drop(Fault, name="drop"):
    """Never answer, nor anything behind the request, since a broker serves a connection in order.

    when: "before" the broker handles the request, or "after".
    """

    def __init__(self, api: Api, *, when: When = "after", **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.when = when

    def silence(self, when: When) -> Silence | None:
        return HANG if when == self.when else None


class Disconnect(Fault, name="disconnect"):
    """Close the connection instead of answering.

    when: "before" the broker handles the request, or "after".
    """

    def __init__(self, api: Api, *, when: When = "before", **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.when = when

    def silence(self, when: When) -> Silence | None:
        return CLOSE if when == self.when else None


class Throttle(Fault, name="throttle"):
    """Answer at once with a throttle time, and serve nothing more on the connection until it has passed (KIP-219).

    throttle_time_ms: milliseconds. Versions of an API without that field do not tell the client.
    """

    def __init__(self, api: Api, throttle_time_ms: Int32, **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.throttle_time_ms = throttle_time_ms

    def change_response(self, response: Response) -> None:
        if hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = self.throttle_time_ms

    @property
    def mute_seconds(self) -> float:
        return self.throttle_time_ms / 1000


class Corrupt(Fault, name="corrupt"):
    """Invert a bit in the first record batch of every partition in a Fetch response, so that its checksum is wrong."""

    only: ClassVar[str | None] = "Fetch"

    def __init__(self, api: Api = "Fetch", **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)

    def change_response(self, response: Response) -> None:
        if isinstance(response, FetchResponse):
            for topic in response.responses:
                for partition in topic.partitions:
                    if partition.records:
                        partition.records = _damaged_batch(partition.records)


class Mismatch(Fault, name="mismatch"):
    """Answer under another correlation id than the request's.

    by: how much is added to the id.
    """

    def __init__(self, api: Api, by: int = 1, **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.by = by

    def damage_frame(self, frame: bytes) -> bytes:
        (number,) = _CORRELATION_ID.unpack_from(frame, _CORRELATION_ID_AT)
        other = _CORRELATION_ID.pack((number + self.by + 2**31) % 2**32 - 2**31)
        return frame[:_CORRELATION_ID_AT] + other + frame[_CORRELATION_ID_AT + 4 :]


class Flip(Fault, name="flip"):
    """Invert all bits of one byte of the response.

    at: index of the byte, from the 4-byte size on; negative from the end.
    """

    def __init__(self, api: Api, at: int = -1, **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.at = at

    def damage_frame(self, frame: bytes) -> bytes:
        damaged = bytearray(frame)
        damaged[self.at % len(frame)] ^= 0xFF
        return bytes(damaged)


class Cut(Fault, name="cut"):
    """Close the connection in the middle of the response.

    after_bytes: how many bytes of the response are sent, its 4-byte size included.
    """

    def __init__(self, api: Api, after_bytes: Int32, **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.after_bytes = after_bytes

    def damage_frame(self, frame: bytes) -> bytes:
        return frame[: self.after_bytes]

    @property
    def closes_connection(self) -> bool:
        return True


class Split(Fault, name="split"):
    """Send the response in pieces, with a pause before each piece but the first.

    size: bytes of a piece. pause: seconds.
    """

    def __init__(self, api: Api, size: Size, pause: Seconds = 0.001, **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.size = size
        self.pause = pause

    def split_frame(self, frame: bytes) -> tuple[Sequence[bytes], float]:
        return [frame[at : at + self.size] for at in range(0, len(frame), self.size)], self.pause


def _damaged_batch(records: Buffer) -> bytes:
    data = bytearray(records)
    (length,) = _BATCH_LENGTH.unpack_from(data, _BATCH_LENGTH_AT)
    data[min(_BATCH_LENGTH_AT + 4 + length, len(data)) - 1] ^= 1
    return bytes(data)


def _method(kind: Callable[P, F]) -> Callable[Concatenate[FaultMethods, P], F]:
    """Return a method that adds a fault of a kind, with the name, the parameters and the docstring of its class."""

    def add(self: FaultMethods, /, *args: P.args, **options: P.kwargs) -> F:
        return self._add_fault(kind(*args, **options))

    cls: Any = kind
    signature = inspect.signature(cls)
    receiver = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    parameters = [receiver, *signature.parameters.values()]
    vars(add)["__signature__"] = signature.replace(parameters=parameters, return_annotation=cls.__name__)
    add.__name__, add.__qualname__, add.__doc__ = cls.name, f"FaultMethods.{cls.name}", cls.__doc__
    return add


class FaultMethods:
    """Methods that add a fault, one for each kind: `kafka.delay("Fetch", seconds=1, topic="flights")`.

    They take the arguments of the class and return the fault. They raise TypeError for an unknown option or a wrong type,
    ValueError for an unknown API or a value out of range.
    """

    fail = _method(Fail)
    delay = _method(Delay)
    hold = _method(Barrier)
    drop = _method(Drop)
    disconnect = _method(Disconnect)
    throttle = _method(Throttle)
    corrupt = _method(Corrupt)
    mismatch = _method(Mismatch)
    flip = _method(Flip)
    cut = _method(Cut)
    split = _method(Split)

    def _add_fault(self, fault: F) -> F:
        raise NotImplementedError
