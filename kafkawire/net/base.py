"""The contract between client behaviour and IO: the methods of a driver, and all that `kafkawire.core` may know of it.

Flows are written once, as `async def`, against these protocols. Three drivers run them: `net.blocking` (threads; coroutines
never suspend), `net.aio` (asyncio) and the seeded simulation of the test suite.

The rules; breaking any of them has lost a wake-up or torn a stream:

1. `signal.clear()`, then look at the state, then `net.wait(signal, deadline)`; any other order loses wake-ups.
2. A `Pending` completes exactly once: value or error, `done`, then its signal. Late replies are dropped by correlation id.
3. Deadlines are absolute `now()` values. `wait` returns False and closes nothing; the flow decides.
4. Any `await` may raise KeyboardInterrupt or CancelledError, and ClosedError once the net is closed: flows undo in
   `finally`. Abandoning a pending is free. Spawned flows are never cancelled: a flag and their signal stop them, then
   `join` with a deadline.
5. A flow never holds a lock across an `await`, never blocks in any other way, and never connects inline while it serves
   several brokers (it spawns the connect).

Not in the contract: which thread completes a pending, fairness between waiters, and any order between two links.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from kafkawire.errors import ConnectError, RequestTimedOut

if TYPE_CHECKING:
    from types import TracebackType

    from kafkawire.config import TlsOptions
    from kafkawire.protocol.frames import RequestFrame

__all__ = ["NEVER", "HandshakeCut", "Link", "Lock", "Net", "OwnedNet", "Pending", "Signal", "Task", "call", "join", "sleep"]

NEVER = float("inf")
"""The deadline of a wait without one."""

T = TypeVar("T")


class HandshakeCut(ConnectError):
    """The other side accepted the connection and closed it during the TLS handshake, as a port without TLS does."""


class Signal(Protocol):
    """A flag that one flow waits on and any thread may raise."""

    flag: bool

    def set(self) -> None:
        """Raise the flag and wake the waiter. Any thread; no system call unless the owner is inside a poll."""

    def clear(self) -> None:
        """Lower the flag. Called by its owner only, before it looks at the state."""


class Pending(Protocol):
    """One outstanding reply."""

    done: bool
    value: bytearray | None
    """The response frame without its size, once done; None after an error."""
    error: Exception | None

    def result(self) -> bytearray:
        """The response frame; raises the error if there is one. Only once `done`."""


class Link(Protocol):
    """One connection to one broker, carrying any number of requests at once."""

    error: Exception | None
    """Why the link is down, or None while it is up."""

    def send(self, frame: RequestFrame, signal: Signal | None) -> Pending:
        """Queue a request; the reply completes the returned pending and sets `signal`.

        Any thread. Never blocks and never raises on a network failure: the pending completes with ConnectionLost.
        With `signal` None no reply is expected (Produce with acks=0) and the pending is done at once.
        """

    def backlog(self) -> int:
        """Bytes that were sent and wait for the socket. Awaited replies bound them; with acks=0 only the sender does."""

    def fail(self, error: Exception) -> None:
        """Take the link down: every pending completes with `error`. Any thread, idempotent."""

    def close(self) -> None:
        """`fail(ConnectionLost("closed"))`."""


class Lock(Protocol):
    """A mutex that its holder may take again, and that no other thread can release."""

    def acquire(self) -> bool:
        """Wait for the mutex and take it."""

    def release(self) -> None:
        """Release the mutex. Raises RuntimeError if the caller does not hold it."""

    def __enter__(self) -> bool: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...


class Task(Protocol):
    """A spawned flow, and its outcome once it is done."""

    done: bool
    value: Any
    error: BaseException | None


class Net(Protocol):
    """A driver: clock, locks, connections and the one way to wait."""

    def now(self) -> float:
        """Monotonic seconds; the scale of every deadline."""

    def wall_clock(self) -> float:
        """Seconds since the epoch, for record timestamps only (trap 141)."""

    def signal(self) -> Signal:
        """A new signal, for one flow to wait on."""

    def lock(self) -> Lock:
        """A new mutex, for state that user threads and flows share; never held across an await."""

    def spawn(
        self, coro: Coroutine[Any, Any, Any], done: Signal | None = None, name: str = "kafkawire", *, brief: bool = False
    ) -> Task:
        """Run a flow beside the caller; `done` is set when it has ended.

        A `brief` flow has deadlines of its own: a driver that cannot run it beside the caller runs it to its end first.
        """

    def tls(self, options: TlsOptions) -> Any:
        """TLS settings for `connect`, from the options; the files that they name are read now.

        Raises ConfigurationError that names the option at fault.
        """

    async def connect(self, host: str, port: int, tls: Any, deadline: float) -> Link:
        """Resolve, connect (every address in turn, trap 110) and, unless `tls` is None, shake hands.

        Raises ConnectError that names the stage (resolve, connect, TLS) and every address tried: TlsError, NotKafkaError or
        HandshakeCut if all addresses that could be connected to failed in that way.
        """

    async def wait(self, signal: Signal, deadline: float = NEVER) -> bool:
        """Suspend until the signal is set or the deadline has come; returns `signal.flag`. The only suspension point."""


class OwnedNet(Net, Protocol):
    """A driver with the methods for its owner, who closes it, drops it, or still uses it when the interpreter ends."""

    @property
    def closed(self) -> bool:
        """True if the net was closed, or belongs to the parent process."""

    @property
    def forked(self) -> bool:
        """True if the net belongs to the parent process, and this is a child's copy of it."""

    def shut(self) -> None:
        """Close every link and make every wait raise ClosedError. Waits for nothing."""

    def finalize(self, call: Callable[[], None]) -> None:
        """Make a call that closes things for a finalizer, which the garbage collector runs in any thread at any time."""

    def drive(self, coro: Coroutine[Any, Any, Any], patience: float) -> None:
        """Run a flow at the end of the interpreter, where that is still possible, for up to `patience` seconds."""

    def cut_off(self) -> None:
        """End the flows that are left after `drive`: they clean up, but get no more time."""


async def call(net: Net, link: Link, frame: RequestFrame, deadline: float) -> bytearray:
    """Send a request and wait for its reply. Raises ConnectionLost, or RequestTimedOut at the deadline (the link stays up)."""
    signal = net.signal()
    pending = link.send(frame, signal)
    while True:
        signal.clear()
        if pending.done:
            return pending.result()
        if not await net.wait(signal, deadline):
            raise RequestTimedOut(f"no answer to API key {frame.api_key} before its deadline")


async def sleep(net: Net, seconds: float) -> None:
    """Wait for a time, in the driver's own clock."""
    await net.wait(net.signal(), net.now() + seconds)


async def join(net: Net, task: Task, done: Signal, deadline: float) -> bool:
    """Wait until a spawned flow has ended (`done` is the signal it was spawned with); False at the deadline."""
    while True:
        done.clear()
        if task.done:
            return True
        if not await net.wait(done, deadline):
            return False
