"""One connection to one broker, without IO: bytes and time in, bytes out, one request at a time and in order, as in Kafka.

Whoever drives it (the TCP server, a simulation) feeds `received`, calls `run` after `on_ready` and when `wake_at` has come,
writes what `take_output` gives, and closes once `closing` is set and everything is written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkawire.errors import DecodeError, NotKafkaError
from kafkawire.protocol.frames import ServerPeer
from mockbroker.call import CLOSE, HANG, Answer, Call, Client, Silence, Wait
from mockbroker.faults import Corrupt, Cut, Delay, Disconnect, Drop, Fault, Throttle, damage, throttle
from mockbroker.handlers import HANDLERS, api_versions
from mockbroker.journal import Exchange

if TYPE_CHECKING:
    from kafkawire.protocol.frames import RequestHeader
    from kafkawire.protocol.schema import Response
    from kafkawire.protocol.wire import Buffer
    from mockbroker.cluster import Broker, Cluster

__all__ = ["NEVER", "ServerConnection"]

NEVER = float("inf")

_QUEUE_LIMIT = 1 << 20
"""Bytes of requests that may wait their turn before the connection takes no more input."""

_OUTPUT_LIMIT = 1 << 20
"""Bytes of answers that may wait to be written before the next request is taken up."""


@dataclass(slots=True)
class _Turn:
    """The request that is being served."""

    header: RequestHeader
    exchange: Exchange
    faults: list[Fault] = field(default_factory=list)
    held: bool = False
    """Whether its answer has been held back already."""


class ServerConnection:
    """The broker's side of one connection.

    number: tells the connections of a cluster apart in its journal. on_ready: called when something happened that this
    connection waits for, from wherever it happened, to have `run` called soon; it must not call `run` itself.
    """

    __slots__ = (
        "_broker",
        "_client",
        "_cluster",
        "_on_ready",
        "_output",
        "_output_bytes",
        "_peer",
        "_queue",
        "_queued_bytes",
        "_ready",
        "_waiting",
        "closing",
    )

    def __init__(self, cluster: Cluster, broker: Broker, number: int, on_ready: Callable[[], None]) -> None:
        self.closing = False
        """Nothing more will be answered."""
        self._cluster = cluster
        self._broker = broker
        self._client = Client(number)
        self._on_ready = on_ready
        self._peer = ServerPeer(int(cluster.config["socket.request.max.bytes"]))
        self._queue: deque[tuple[RequestHeader, memoryview]] = deque()
        self._queued_bytes = 0
        self._output: list[Buffer] = []
        self._output_bytes = 0
        self._waiting: tuple[_Turn, Wait] | None = None
        self._ready = False

    @property
    def wants_input(self) -> bool:
        """Whether `received` may be called: not while too many requests wait their turn."""
        return not self.closing and self._queued_bytes < _QUEUE_LIMIT

    @property
    def wake_at(self) -> float:
        """When `run` must be called if nothing happens before."""
        return self._waiting[1].deadline if self._waiting is not None else NEVER

    def received(self, data: bytes, now: float) -> None:
        """Bytes from the client. What is no Kafka request ends the connection."""
        try:
            requests = self._peer.received(data)
        except (DecodeError, NotKafkaError):
            self.closing = True
            return
        self._queue.extend(requests)
        self._queued_bytes += sum(len(body) for _, body in requests)
        self.run(now)

    def run(self, now: float) -> None:
        """Go on serving, as far as waits and the room for output allow."""
        while not self.closing:
            if self._waiting is not None:
                turn, wait = self._waiting
                if not self._ready and now < wait.deadline:
                    return
                self._end_wait(wait)
                answer = wait.resume(now)
            elif self._queue and self._output_bytes < _OUTPUT_LIMIT:
                header, body = self._queue.popleft()
                self._queued_bytes -= len(body)
                turn = _Turn(header, Exchange(now, self._broker.id, self._client, header, body))
                answer = self._begin(turn, now)
            else:
                return
            self._proceed(turn, answer, now)

    def take_output(self) -> list[Buffer]:
        """What is to be written, in parts. Call `run` once that is done: there is room for more answers."""
        output, self._output, self._output_bytes = self._output, [], 0
        return output

    def wake(self) -> None:
        """Something changed that the connection waits for."""
        if not self._ready:
            self._ready = True
            self._on_ready()

    def lost(self) -> None:
        """The client is gone."""
        self.closing = True
        if self._waiting is not None:
            self._end_wait(self._waiting[1])

    def _begin(self, turn: _Turn, now: float) -> Answer:
        """Take a request up."""
        cluster, header, key = self._cluster, turn.header, turn.header.api_key
        if key in HANDLERS:
            cluster.journal.record(turn.exchange)
        if not cluster.profile.serves(key, header.api_version):
            return self._unserved(header)
        try:
            request = turn.exchange.request
        except DecodeError:
            return CLOSE
        turn.faults = cluster.faults.striking(cluster, self._broker.id, header.client_id or "", request)
        call = Call(cluster, self._broker, self._client, header, next(filter(None, (f.injected for f in turn.faults)), None))
        handle = HANDLERS[key].handle
        if not turn.faults:
            return handle(call, request, now)
        silence = _silence(turn.faults, "before")
        if silence is not None:
            return silence
        seconds = _delay(turn.faults, "before")
        return Wait(now + seconds, (), lambda later: handle(call, request, later)) if seconds else handle(call, request, now)

    def _unserved(self, header: RequestHeader) -> Answer:
        """An API or version that this broker does not serve."""
        profile = self._cluster.profile
        if header.api_key == api_versions.REQUEST.key and header.api_key in profile.advertised:
            return api_versions.downgrade(profile)
        return HANG if profile.hangs_on_unknown else CLOSE

    def _proceed(self, turn: _Turn, answer: Answer, now: float) -> None:
        """Wait, hold the answer back, or give it."""
        if isinstance(answer, Wait):
            self._begin_wait(turn, answer)
            return
        if turn.faults:
            seconds = 0.0 if turn.held else _delay(turn.faults, "after")
            if seconds:
                turn.held = True
                self._begin_wait(turn, Wait(now + seconds, (), lambda _later: answer))
                return
            answer = _silence(turn.faults, "after") or answer
        if answer is CLOSE:
            self.closing = True
        elif answer is HANG:
            self._begin_wait(turn, Wait(NEVER, (), lambda _later: HANG))
        elif not isinstance(answer, Silence):
            self._respond(turn, answer)

    def _respond(self, turn: _Turn, response: Response) -> None:
        header = turn.header
        version = header.api_version if self._cluster.profile.serves(header.api_key, header.api_version) else 0
        cut: int | None = None
        for fault in turn.faults:
            match fault.action:
                case Throttle(throttle_time_ms):
                    throttle(response, throttle_time_ms)
                case Corrupt():
                    damage(response)
                case Cut(after_bytes):
                    cut = after_bytes
        frame = self._peer.response_frame(header, response, version)
        self._cluster.journal.answered(turn.exchange, frame, version)
        if cut is not None:
            frame = [b"".join(frame)[:cut]]
            self.closing = True
        self._output += frame
        self._output_bytes += sum(map(len, frame))

    def _begin_wait(self, turn: _Turn, wait: Wait) -> None:
        self._waiting = turn, wait
        self._ready = False
        for watchers in wait.on:
            watchers.add(self)

    def _end_wait(self, wait: Wait) -> None:
        self._waiting = None
        self._ready = False
        for watchers in wait.on:
            watchers.remove(self)


def _silence(faults: list[Fault], when: str) -> Silence | None:
    """What drops and disconnects at this point come to."""
    for fault in faults:
        match fault.action:
            case Drop(when=at) if at == when:
                return HANG
            case Disconnect(when=at) if at == when:
                return CLOSE
    return None


def _delay(faults: list[Fault], when: str) -> float:
    return sum(fault.action.seconds for fault in faults if isinstance(fault.action, Delay) and fault.action.when == when)
