"""The third driver of `net.base`: one thread, a virtual clock, links in memory, and every choice drawn from one seed.

Among flows that are ready, chance decides who goes next; links delay, split, cut and silence what they carry, each direction
in order. Between critical sections another thread's synchronous call may be slipped in (`intrude`). Time passes only when
nobody is ready, so hours cost nothing, and the same seed gives the same run: compare `digest()`.

The cluster is plugged in as a `SimServer`, by `serve`. It has no thread either: it acts when `accept`, `received` or `closed`
is called, and at times that it asks for with `net.at(when, call)`; `net.now()` is its clock. What it sends or closes in any
of these travels to the client with the link's delay.

A run fails as `Stuck` if nobody is ready and no timer is left, or if it takes too long: a lost wake-up, most likely. It fails
as `BusyLoop` if a flow waits more often in a virtual second than there can be reasons for. It fails with AssertionError if a
flow waits while it holds a lock, if a lock is taken twice, or if two flows wait on one signal.
"""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import random
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from kafkawire.errors import ConnectError
from kafkawire.net.base import NEVER
from tests.sim.flows import Lock, Signal, Task, suspend
from tests.sim.links import BOTH_WAYS, Faults, Hosts, Link, SimServer

if TYPE_CHECKING:
    from kafkawire.config import TlsOptions

__all__ = ["EPOCH", "BusyLoop", "Faults", "SimNet", "Stuck"]

T = TypeVar("T")

EPOCH = 1_700_000_000.0
"""Wall clock at virtual time 0."""

MOST_WAITS = 1_000
"""Waits of one flow in one virtual second, from which on it is spinning."""


class Stuck(AssertionError):
    """The run cannot go on, or does not end."""


class BusyLoop(AssertionError):
    """A flow goes round and round, and whatever it waits for is there already."""


class SimNet:
    """See `net.base.Net`. A run is `SimNet(seed)`, `serve(cluster)`, `run(main())`."""

    def __init__(self, seed: int, faults: Faults | None = None, *, longest: float = 86_400.0) -> None:
        self.rng = random.Random(seed)
        self.faults = faults if faults is not None else Faults()
        self.longest = longest
        """Virtual seconds after which a run counts as stuck."""
        self.hosts = Hosts()
        self.wall_clock_error = 0.0
        """Seconds by which the wall clock is ahead: it can be set, and jump, independently of other clocks."""
        self.locks_held = 0
        self.steps = 0
        self._now = 0.0
        self._timers: list[tuple[float, int, Callable[[], None], bool]] = []
        self._timer_number = 0
        self._ready: list[Task] = []
        self._tasks: list[Task] = []
        self._running: Task | None = None
        self._links: list[Link] = []
        self._server: SimServer | None = None
        self._intruders: Sequence[Callable[[], object]] = ()
        self._intrusion = 0.0
        self._hash = hashlib.blake2b(digest_size=8)
        self._recent: deque[str] = deque(maxlen=20)

    # ---- the contract

    def now(self) -> float:
        return self._now

    def wall_clock(self) -> float:
        return EPOCH + self._now + self.wall_clock_error

    def signal(self) -> Signal:
        return Signal(self)

    def lock(self) -> Lock:
        return Lock(self)

    def spawn(self, coro: Coroutine[Any, Any, Any], done: Any = None, name: str = "kafkawire", *, brief: bool = False) -> Task:
        task = Task(coro, len(self._tasks), name, done)
        self._tasks.append(task)
        self._ready.append(task)
        return task

    def tls(self, options: TlsOptions) -> TlsOptions:
        return options

    async def connect(self, host: str, port: int, tls: TlsOptions | None, deadline: float) -> Link:
        if tls is not None:
            raise ConnectError(f"cannot connect to {host}:{port}: TLS: simulated brokers have none")
        if self._server is None:
            raise ConnectError(f"cannot connect to {host}:{port}: no server is plugged in")
        answered = max(self._now, self.hosts.dark_until(host, *BOTH_WAYS)) + self.some_delay()
        if await self.wait(self.signal(), min(deadline, answered)) or self._now >= deadline:
            raise ConnectError(f"cannot connect to {host}:{port}: connect: no answer")
        link = Link(self, len(self._links) + 1, host)
        if self.hosts.is_down(host) or self.rng.random() < self.faults.refuse or not link.open(self._server, port):
            raise ConnectError(f"cannot connect to {host}:{port}: connect: Connection refused")
        self._links.append(link)
        return link

    async def wait(self, signal: Any, deadline: float = NEVER) -> bool:
        assert not self.locks_held, "a flow waits while it holds a lock"
        self.maybe_intrude()
        if self._running is not None and self._running.count_wait(self._now) > MOST_WAITS:
            raise BusyLoop(self._report(f"{self._running.name} waits more than {MOST_WAITS} times a second"))
        if signal.flag:
            return True
        await suspend(signal, deadline)
        return bool(signal.flag)

    # ---- for tests and servers

    def serve(self, server: SimServer) -> None:
        """Plug the cluster in."""
        self._server = server

    def at(self, when: float, call: Callable[[], None], *, may_hurry: bool = False) -> None:
        """Make a call at a virtual time (or now, if that has passed); one that `may_hurry` may come before, by `hurry`."""
        self._timer_number += 1
        heapq.heappush(self._timers, (max(when, self._now), self._timer_number, call, may_hurry))

    def hurry(self) -> None:
        """Make the next call already, if it is one that may hurry: an intruder, so that answers come at any moment."""
        if self._timers and self._timers[0][3]:
            heapq.heappop(self._timers)[2]()

    def intrude(self, calls: Sequence[Callable[[], object]], probability: float) -> None:
        """Let one of these synchronous calls, as if of another thread, happen between critical sections now and then."""
        self._intruders = calls
        self._intrusion = probability

    def interrupt(self, task: Task) -> None:
        """Have the wait that a flow is in, or its next one, raise KeyboardInterrupt, as Ctrl-C does."""
        task.interrupted = True
        if task.signal is not None:
            self.make_ready(task)

    def cut_links(self, host: str) -> None:
        """Break every connection to a host."""
        for link in self._links:
            if link.host == host and link.error is None:
                link.cut()

    def calm(self) -> None:
        """No faults and no intruders from now on; delays stay. Links that were silenced stay silent."""
        self.faults = replace(self.faults, late=0.0, cut=0.0, silence=0.0, refuse=0.0)
        self.hosts.heal()
        self._intrusion = 0.0

    def waits(self) -> int:
        """Number of waits of flows, including those that ended at once because the signal was set: busy loops have many."""
        return sum(task.waits for task in self._tasks)

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
        delay = self.rng.expovariate(1 / self.faults.delay)
        if self.faults.late and self.rng.random() < self.faults.late:
            delay += self.rng.expovariate(1 / self.faults.lateness)
        return delay

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
            self._now, _, call, _ = heapq.heappop(self._timers)
            if self._now > self.longest:
                raise Stuck(self._report(f"not done after {self.longest:g} virtual seconds"))
            call()
        else:
            raise Stuck(self._report(stuck))

    def _step(self, task: Task) -> None:
        self.steps += 1
        self.trace(f"flow {task.number} {task.name}")
        self._running = task
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
        task.parked += 1
        task.signal = signal
        signal.waiter = task
        parked = task.parked

        def expire() -> None:
            if task.parked == parked:
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
