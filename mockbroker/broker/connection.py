"""Broker's side of one connection, without IO: bytes and time in, bytes out, one request at a time and in order, as in Kafka.

A driver (the TCP server, a simulation) feeds `received`, calls `serve` afterwards and after `on_ready`, runs the cluster's
timers, writes the parts that `take_output` returns, and closes once `closing` is set and everything is written.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from kafkawire.errors import DecodeError, NotKafkaError
from kafkawire.protocol.frames import ServerPeer
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from mockbroker.broker.answers import CLOSE, HANG, NO_REPLY, Answer, Silence, Wait
from mockbroker.broker.client import Client
from mockbroker.broker.context import RequestContext
from mockbroker.broker.exchange import Exchange
from mockbroker.broker.handlers import api_versions, handler
from mockbroker.broker.registry import SERVED, advertised, serves
from mockbroker.state.timers import NEVER, Timer

if TYPE_CHECKING:
    from kafkawire.protocol.frames import RequestHeader
    from kafkawire.protocol.schema import Request, Response
    from kafkawire.protocol.wire import Buffer
    from mockbroker.broker.observers import RequestFault, When
    from mockbroker.broker.services import ClusterServices
    from mockbroker.state.brokers import Broker

__all__ = ["ServerConnection"]

_QUEUE_LIMIT = 1 << 20
"""Bytes of queued requests above which the connection takes no more input."""

_QUEUE_OVERHEAD = 256
"""Bytes that a queued request counts beside its body, so that requests without a body are limited too."""

_OUTPUT_LIMIT = 1 << 20
"""Bytes of unwritten responses above which no further request is served."""


def _nobody() -> None:
    """Replaces `on_ready` once the driver is gone."""


class _Turn:
    """Request that is being served."""

    __slots__ = ("answered", "exchange", "faults")

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self.faults: Sequence[RequestFault] = ()
        self.answered = False
        """True once the faults have been asked about the answer."""


class ServerConnection:
    """Broker's side of one connection.

    services: of the cluster. number: tells the connections of a cluster apart in its journal. host: the client's address.
    on_ready: called when something happened that this connection waits for, from wherever it happened, to have `serve` called
    soon; it must not call `serve` itself.
    """

    __slots__ = (
        "_broker",
        "_client",
        "_cluster",
        "_faults",
        "_journal",
        "_on_ready",
        "_output",
        "_output_bytes",
        "_peer",
        "_queue",
        "_queued_bytes",
        "_ready",
        "_services",
        "_timer",
        "_waiting",
        "closing",
    )

    def __init__(
        self, services: ClusterServices, broker: Broker, number: int, on_ready: Callable[[], None], host: str = "127.0.0.1"
    ) -> None:
        self.closing = False
        """True once no further request is answered: the driver closes after writing the output."""
        self._services = services
        self._cluster = services.cluster
        self._faults = services.observers.faults
        self._journal = services.observers.journal
        self._broker = broker
        self._client = Client(number, host)
        self._on_ready = on_ready
        self._peer = ServerPeer(int(services.cluster.config["socket.request.max.bytes"]))
        self._queue: deque[tuple[RequestHeader, memoryview]] = deque()
        self._queued_bytes = 0
        self._output: list[Buffer] = []
        self._output_bytes = 0
        self._waiting: tuple[_Turn, Wait] | None = None
        self._timer: Timer | None = None
        self._ready = False

    @property
    def wants_input(self) -> bool:
        """True if `received` may be called; False while too many requests are queued."""
        return not self.closing and self._queued_bytes < _QUEUE_LIMIT

    def received(self, data: bytes) -> None:
        """Take bytes from the client. Bytes that are no Kafka request end the connection."""
        try:
            requests = self._peer.received(data)
        except (DecodeError, NotKafkaError):
            self.closing = True
            return
        self._queue.extend(requests)
        self._queued_bytes += sum([_QUEUE_OVERHEAD + len(body) for _, body in requests])

    def serve(self, now: float) -> bool:
        """Serve the next request, or go on with the waiting one. Returns False if it has to wait, or the output is full.

        One call serves one request, so that drivers can give other connections their turn.
        """
        if self.closing:
            return False
        if self._waiting is not None:
            turn, wait = self._waiting
            if not self._ready and now < wait.deadline:
                return False
            self._end_wait(wait)
            answer = wait.resume(now)
        elif self._queue and self._output_bytes < _OUTPUT_LIMIT:
            header, body = self._queue.popleft()
            self._queued_bytes -= _QUEUE_OVERHEAD + len(body)
            turn = _Turn(Exchange(now + self._cluster.wall_clock_offset, self._broker.id, self._client, header, body))
            answer = self._begin(turn, now)
        else:
            return False
        self._proceed(turn, answer, now)
        return True

    def take_output(self) -> list[Buffer]:
        """Take the bytes to write, in parts. Call `serve` after writing them: there is room for more responses."""
        output, self._output, self._output_bytes = self._output, [], 0
        return output

    def wake(self) -> None:
        """Note a change that the connection waits for, and call `on_ready`."""
        if not self._ready:
            self._ready = True
            self._on_ready()

    def lost(self) -> None:
        """End the connection after the client has gone: drop queued requests, output, and the reference to the driver.

        The driver holds the connection, so a reference back would keep both until the garbage collector runs.
        """
        self.closing = True
        if self._waiting is not None:
            self._end_wait(self._waiting[1])
        self._on_ready = _nobody
        self._queue.clear()
        self._output.clear()

    def _begin(self, turn: _Turn, now: float) -> Answer:
        """Begin to serve a request."""
        exchange = turn.exchange
        header = exchange.header
        key = header.api_key
        if key in SERVED:
            self._journal.record(exchange)
        if not serves(self._cluster.profile, key, header.api_version):
            return self._unserved(exchange)
        try:
            request = exchange.request
        except DecodeError:
            return CLOSE
        turn.faults = faults = self._faults.fired_at(exchange, request)
        if not faults:
            return handler(key)(RequestContext(self._services, self._broker, self._client, header), request, now)
        return self._apply_faults(turn, faults, "before", partial(self._handle, turn, request), now)

    def _handle(self, turn: _Turn, request: Request, now: float) -> Answer:
        """Let the handler answer a request that faults have fired at."""
        injected = [error for fault in turn.faults if (error := fault.injected_error) is not None]
        header = turn.exchange.header
        context = RequestContext(self._services, self._broker, self._client, header, injected)
        return handler(header.api_key)(context, request, now)

    def _apply_faults(
        self, turn: _Turn, faults: Sequence[RequestFault], when: When, proceed: Callable[[float], Answer], now: float
    ) -> Answer:
        """Apply faults at one point: all of their waits in turn, then a silence; without silence, proceed."""
        for place, fault in enumerate(faults, 1):
            wait = fault.hold_back(when, turn.exchange, now)
            if wait is not None:
                return Wait(*wait, partial(self._apply_faults, turn, faults[place:], when, proceed))
        for fault in turn.faults:
            silence = fault.silence(when)
            if silence is not None:
                return silence
        return proceed(now)

    def _unserved(self, exchange: Exchange) -> Answer:
        """Answer a request whose API or version this broker does not serve."""
        profile, key = self._cluster.profile, exchange.header.api_key
        if key == ApiVersionsRequest.key and key in advertised(profile):
            exchange.response_version = 0
            return api_versions.downgrade(profile)
        return HANG if profile.hangs_on_unknown else CLOSE

    def _proceed(self, turn: _Turn, answer: Answer, now: float) -> None:
        """Begin a wait, or give the answer."""
        if turn.faults and not turn.answered and not isinstance(answer, Wait):
            turn.answered = True
            found = answer
            answer = self._apply_faults(turn, turn.faults, "after", lambda _later: found, now)
        if isinstance(answer, Wait):
            self._begin_wait(turn, answer)
        elif answer is CLOSE:
            self.closing = True
        elif answer is HANG:
            self._begin_wait(turn, Wait(NEVER, (), lambda _later: HANG))
        elif not isinstance(answer, Silence):
            self._respond(turn, answer, now)

    def _respond(self, turn: _Turn, response: Response, now: float) -> None:
        faults = turn.faults
        for fault in faults:
            fault.change_response(response)
        exchange = turn.exchange
        frame = self._peer.response_frame(exchange.header, response, exchange.response_version)
        size = sum(map(len, frame))
        self._journal.answered(exchange, now + self._cluster.wall_clock_offset, frame, size)
        if not faults:
            self._output += frame
            self._output_bytes += size
            return
        whole = b"".join(frame)
        for fault in sorted(faults, key=lambda fault: fault.closes_connection):  # cut last, or no byte may be left to damage
            whole = fault.damage_frame(whole)
        pieces, pause = max((fault.split_frame(whole) for fault in faults), key=lambda split: len(split[0]))
        end = CLOSE if any(fault.closes_connection for fault in faults) else NO_REPLY
        mute = max(fault.mute_seconds for fault in faults)
        last = Wait(now + mute, (), lambda _later: end) if mute else end
        self._proceed(turn, self._give(deque(pieces), pause, last, now), now)

    def _give(self, pieces: deque[bytes], pause: float, last: Answer, now: float) -> Answer:
        """Send the next piece of a response, then wait before the one after it."""
        piece = pieces.popleft()
        self._output.append(piece)
        self._output_bytes += len(piece)
        return Wait(now + pause, (), partial(self._give, pieces, pause, last)) if pieces else last

    def _begin_wait(self, turn: _Turn, wait: Wait) -> None:
        self._waiting = turn, wait
        self._ready = False
        if wait.deadline < NEVER:
            self._timer = self._cluster.timers.at(wait.deadline, lambda _now: self.wake())
        for watchers in wait.on:
            watchers.add(self)

    def _end_wait(self, wait: Wait) -> None:
        self._waiting = None
        self._ready = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for watchers in wait.on:
            watchers.remove(self)
