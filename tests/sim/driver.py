"""The third driver of `net.base`: one thread, a virtual clock, links in memory, and every choice drawn from one seed.

Among flows that are ready, chance decides who goes next; links delay, split, cut and silence what they carry, each direction
in order. Between critical sections another thread's synchronous call may be slipped in (`intrude`). Time passes only when
nobody is ready, so hours cost nothing, and the same seed gives the same run: compare `digest()`.

The cluster is plugged in as a `SimServer`, by `serve`. It has no thread either: it acts when `accept`, `received` or `closed`
is called, and at times that it asks for with `net.at(when, call)`; `net.now()` is its clock. What it sends or closes in any
of these travels to the client with the link's delay.

A run fails as `Stuck` if nobody is ready and no timer is left, or if it takes too long: a lost wake-up, most likely. It fails
with AssertionError if a flow waits while it holds a lock, if a lock is taken twice, or if two flows wait on one signal.
"""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import random
import types
from collections import deque
from collections.abc import Callable, Coroutine, Generator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kafkawire.errors import ConnectError, ConnectionLost, KafkaError
from kafkawire.net.base import NEVER
from kafkawire.protocol.frames import ClientPeer

if TYPE_CHECKING:
    from kafkawire.config import TlsOptions
    from kafkawire.protocol.frames import RequestFrame

T = TypeVar("T")

EPOCH = 1_700_000_000.0
"""What the wall clock shows at virtual time 0."""


class Stuck(AssertionError):
    """The run cannot go on, or does not end."""


class SimConnection(Protocol):
    """The server's end of one connection."""

    def received(self, data: bytes) -> None:
        """Bytes from the client, in order, in pieces of any size."""

    def closed(self) -> None:
        """The client closed, or the link was cut. Sending is pointless from now on, but harmless."""


class SimServer(Protocol):
    """All brokers of a simulated cluster."""

    def accept(self, host: str, port: int, send: Callable[[bytes], None], close: Callable[[], None]) -> SimConnection | None:
        """A client connects; None refuses. `send` and `close` may be called at any time, also from within."""


@dataclass(frozen=True, slots=True)
class Faults:
    """What links do to what they carry. `delay` is the mean in seconds; the rest are probabilities."""

    delay: float = 0.01
    split: float = 0.3
    """of a write to arrive in pieces"""
    cut: float = 0.0
    """of the link to break at a piece, which is lost"""
    silence: float = 0.0
    """of the link to carry nothing any more from a piece on, without breaking"""
    refuse: float = 0.0
    """of a connect to be refused"""


@types.coroutine
def _suspend(signal: Signal, deadline: float) -> Generator[tuple[Signal, float], None, None]:
    yield signal, deadline


class Signal:
    """See `net.base.Signal`."""

    __slots__ = ("flag", "net", "waiter")

    def __init__(self, net: SimNet) -> None:
        self.flag = False
        self.net = net
        self.waiter: Task | None = None

    def set(self) -> None:
        self.flag = True
        if self.waiter is not None:
            self.net.make_ready(self.waiter)

    def clear(self) -> None:
        self.net.maybe_intrude()
        self.flag = False
        self.net.maybe_intrude()


class Pending:
    """See `net.base.Pending`."""

    def __init__(self, signal: Signal | None) -> None:
        self.signal = signal
        self.done = signal is None
        self.value: bytearray | None = None
        self.error: Exception | None = None

    def complete(self, value: bytearray | None, error: Exception | None) -> None:
        if self.signal is None:
            self.error = error
        elif not self.done:
            self.value, self.error, self.done = value, error, True
            self.signal.set()

    def result(self) -> bytearray:
        if self.error is not None:
            raise self.error.with_traceback(None)
        return self.value if self.value is not None else bytearray()


class Lock:
    """No lock, as there is one thread: it checks that holders neither wait nor take it twice, and lets others in between."""

    def __init__(self, net: SimNet) -> None:
        self._net = net
        self._held = False

    def acquire(self) -> bool:
        self._net.maybe_intrude()
        assert not self._held, "a lock was taken twice: what it guards would be seen half changed"
        self._held = True
        self._net.locks_held += 1
        return True

    def release(self) -> None:
        if not self._held:
            raise RuntimeError("cannot release what is not held")
        self._held = False
        self._net.locks_held -= 1
        self._net.maybe_intrude()

    __enter__ = acquire

    def __exit__(self, *exc_info: object) -> None:
        self.release()


class Task:
    """See `net.base.Task`."""

    def __init__(self, coro: Coroutine[Any, Any, Any], number: int, name: str, ended: Signal | None) -> None:
        self.done = False
        self.value: Any = None
        self.error: BaseException | None = None
        self.coro = coro
        self.number = number
        self.name = name
        self.ended = ended
        self.waits = 0
        """How often it has waited, so that a timer can tell its own wait from a later one."""
        self.signal: Signal | None = None
        self.interrupted = False


class Link:
    """See `net.base.Link`; one in-memory connection."""

    def __init__(self, net: SimNet, number: int) -> None:
        self.error: Exception | None = None
        self._net = net
        self._number = number
        self._peer = ClientPeer()
        self._server: SimConnection | None = None
        self._broken = False
        """Nothing new gets through, in neither direction."""
        self._arrival = {"to server": 0.0, "to client": 0.0}
        """When the last piece sent so far arrives: later ones come after it."""

    # ---- the client's end

    def send(self, frame: RequestFrame, signal: Any) -> Pending:
        pending = Pending(signal)
        if self.error is not None:
            pending.complete(None, self.error)
        else:
            parts = self._peer.request(frame, None if signal is None else pending)
            self._carry("to server", b"".join(parts), self._to_server)
        return pending

    def fail(self, error: Exception) -> None:
        if self.error is not None:
            return
        self.error = error
        self._schedule("to server", self._tell_server)
        for pending in self._peer.outstanding():
            pending.complete(None, error)

    def backlog(self) -> int:
        return 0

    def close(self) -> None:
        self.fail(ConnectionLost("closed"))

    # ---- the server's end

    def open(self, server: SimServer, host: str, port: int) -> bool:
        """Introduce the two ends to each other; False if the server refuses."""
        self._server = server.accept(host, port, self._from_server, self._server_closes)
        return self._server is not None

    def _from_server(self, data: bytes) -> None:
        self._carry("to client", bytes(data), self._to_client)

    def _server_closes(self) -> None:
        self._schedule("to client", lambda: self.fail(ConnectionLost("the broker closed the connection")))

    # ---- between

    def _carry(self, way: str, data: bytes, deliver: Callable[[bytes], None]) -> None:
        """Pieces of the data, each after a delay, in order, until chance breaks the link."""
        chance, faults = self._net.rng, self._net.faults
        while data and not self._broken:
            size = chance.randint(1, len(data)) if chance.random() < faults.split else len(data)
            if chance.random() < faults.cut:
                self._broken = True
                self._schedule("to client", lambda: self.fail(ConnectionLost("cut")))
                self._schedule("to server", self._tell_server)
            elif chance.random() < faults.silence:
                self._broken = True
            else:
                self._schedule(way, deliver, data[:size])
                data = data[size:]

    def _schedule(self, way: str, call: Callable[..., None], *arguments: Any) -> None:
        net = self._net
        when = max(self._arrival[way], net.now() + net.some_delay())
        self._arrival[way] = when

        def arrive() -> None:
            net.trace(f"link {self._number} {way} {len(arguments[0]) if arguments else 'end'}")
            call(*arguments)

        net.at(when, arrive)

    def _to_server(self, data: bytes) -> None:
        if self._server is not None:
            self._server.received(data)

    def _tell_server(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.closed()

    def _to_client(self, data: bytes) -> None:
        while data and self.error is None:
            buffer = self._peer.get_buffer()
            size = min(len(buffer), len(data))
            buffer[:size] = data[:size]
            data = data[size:]
            try:
                replies = self._peer.received(size)
            except KafkaError as error:
                self.fail(error)
                return
            for pending, frame in replies:
                pending.complete(frame, None)


class SimNet:
    """See `net.base.Net`. A run is `SimNet(seed)`, `serve(cluster)`, `run(main())`."""

    def __init__(self, seed: int, faults: Faults | None = None, *, longest: float = 86_400.0) -> None:
        self.rng = random.Random(seed)
        self.faults = faults if faults is not None else Faults()
        self.longest = longest
        """Virtual seconds after which a run counts as stuck."""
        self.locks_held = 0
        self.steps = 0
        self._now = 0.0
        self._timers: list[tuple[float, int, Callable[[], None]]] = []
        self._timer_number = 0
        self._ready: list[Task] = []
        self._tasks: list[Task] = []
        self._links = 0
        self._server: SimServer | None = None
        self._intruders: Sequence[Callable[[], object]] = ()
        self._intrusion = 0.0
        self._hash = hashlib.blake2b(digest_size=8)
        self._recent: deque[str] = deque(maxlen=20)

    # ---- the contract

    def now(self) -> float:
        return self._now

    def wall_clock(self) -> float:
        return EPOCH + self._now

    def signal(self) -> Signal:
        return Signal(self)

    def lock(self) -> Lock:
        return Lock(self)

    def spawn(self, coro: Coroutine[Any, Any, Any], done: Any = None, name: str = "kafkawire") -> Task:
        task = Task(coro, len(self._tasks), name, done)
        self._tasks.append(task)
        self._ready.append(task)
        return task

    async def connect(self, host: str, port: int, tls: TlsOptions | None, deadline: float) -> Link:
        """TLS options are accepted and have no effect."""
        if self._server is None:
            raise ConnectError(f"cannot connect to {host}:{port}: no server is plugged in")
        if await self.wait(self.signal(), min(deadline, self._now + self.some_delay())) or self._now >= deadline:
            raise ConnectError(f"cannot connect to {host}:{port}: connect: no answer")
        self._links += 1
        link = Link(self, self._links)
        if self.rng.random() < self.faults.refuse or not link.open(self._server, host, port):
            raise ConnectError(f"cannot connect to {host}:{port}: connect: Connection refused")
        return link

    async def wait(self, signal: Any, deadline: float = NEVER) -> bool:
        assert not self.locks_held, "a flow waits while it holds a lock"
        self.maybe_intrude()
        if signal.flag:
            return True
        await _suspend(signal, deadline)
        return bool(signal.flag)

    # ---- for tests and servers

    def serve(self, server: SimServer) -> None:
        """Plug the cluster in."""
        self._server = server

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Make a call at a virtual time (or now, if that has passed)."""
        self._timer_number += 1
        heapq.heappush(self._timers, (max(when, self._now), self._timer_number, call))

    def intrude(self, calls: Sequence[Callable[[], object]], probability: float) -> None:
        """Let one of these synchronous calls, as if of another thread, happen between critical sections now and then."""
        self._intruders = calls
        self._intrusion = probability

    def interrupt(self, task: Task) -> None:
        """Have the wait that a flow is in, or its next one, raise KeyboardInterrupt, as Ctrl-C does."""
        task.interrupted = True
        if task.signal is not None:
            self.make_ready(task)

    def calm(self) -> None:
        """No faults and no intruders from now on; delays stay. Links that were silenced stay silent."""
        self.faults = replace(self.faults, cut=0.0, silence=0.0, refuse=0.0)
        self._intrusion = 0.0

    def digest(self) -> str:
        """Sums up all that has happened: equal for equal runs, also of different processes."""
        return self._hash.hexdigest()

    def run(self, coro: Coroutine[Any, Any, T], *, leave_flows: bool = False) -> T:
        """Run a flow to its end, and what it spawned. Raises what it raises.

        Flows that are left waiting for good when it has ended make the run Stuck, unless `leave_flows`.
        """
        main = self.spawn(coro, name="main")
        try:
            while not main.done:
                self._advance("nobody is ready and no timer is left")
            while not leave_flows and any(not task.done for task in self._tasks):
                self._advance("main has ended, and flows that it spawned never will")
        finally:
            self._drop_flows()
        if main.error is not None:
            raise main.error
        value: T = main.value
        return value

    # ---- inside

    def some_delay(self) -> float:
        """A seeded delay."""
        return self.rng.expovariate(1 / self.faults.delay)

    def trace(self, event: str) -> None:
        """Add to the digest."""
        line = f"{self._now:.9f} {event}"
        self._hash.update(line.encode())
        self._recent.append(line)

    def maybe_intrude(self) -> None:
        """Perhaps run an intruder, unless a lock is held or one is running."""
        if not self._intrusion or self.locks_held or self.rng.random() >= self._intrusion:
            return
        calls, self._intruders, probability, self._intrusion = self._intruders, (), self._intrusion, 0.0
        try:
            self.rng.choice(calls)()
        finally:
            if not self._intruders:  # it may have set others
                self._intruders, self._intrusion = calls, probability

    def make_ready(self, task: Task) -> None:
        """End a task's wait."""
        if task.signal is not None:
            task.signal.waiter = None
            task.signal = None
            self._ready.append(task)

    def _advance(self, stuck: str) -> None:
        """One step of one flow, or the next timer; where there is neither, the run is stuck."""
        if self._ready:
            self._step(self._ready.pop(self.rng.randrange(len(self._ready))))
        elif self._timers:
            self._now, _, call = heapq.heappop(self._timers)
            if self._now > self.longest:
                raise Stuck(self._report(f"not done after {self.longest:g} virtual seconds"))
            call()
        else:
            raise Stuck(self._report(stuck))

    def _step(self, task: Task) -> None:
        self.steps += 1
        self.trace(f"flow {task.number} {task.name}")
        try:
            if task.interrupted:
                task.interrupted = False
                signal, deadline = task.coro.throw(KeyboardInterrupt())
            else:
                signal, deadline = task.coro.send(None)
        except StopIteration as stop:
            task.value = stop.value
        except AssertionError:
            raise  # a broken rule ends the run, whoever would have looked at this task
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - kept for whoever joins the task
            task.error = error
        else:
            self._park(task, signal, deadline)
            return
        task.done = True
        if task.ended is not None:
            task.ended.set()

    def _park(self, task: Task, signal: Signal, deadline: float) -> None:
        assert signal.waiter is None, "two flows wait on one signal"
        task.waits += 1
        task.signal = signal
        signal.waiter = task
        wait = task.waits

        def expire() -> None:
            if task.waits == wait:
                self.make_ready(task)

        if task.interrupted:
            self.make_ready(task)
        elif deadline < NEVER:
            self.at(deadline, expire)

    def _report(self, why: str) -> str:
        waiting = ", ".join(f"{task.number} {task.name}" for task in self._tasks if not task.done)
        return "\n".join([f"{why}. Waiting: {waiting}. Last events:", *self._recent])

    def _drop_flows(self) -> None:
        """Let go of flows that have not ended. Those that wait in a `finally` clause object: nobody drives them any more."""
        for task in self._tasks:
            if not task.done:
                with contextlib.suppress(RuntimeError, AssertionError):
                    task.coro.close()
