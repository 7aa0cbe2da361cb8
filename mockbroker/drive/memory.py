"""Driver of a cluster in memory, without sockets or threads: connections are calls, and the caller's clock drives them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Protocol, TypeVar

from kafkawire.addresses import format_address
from mockbroker.broker.connection import ServerConnection
from mockbroker.broker.services import ClusterServices
from mockbroker.observe.observation import Observation
from mockbroker.state.brokers import Broker
from mockbroker.state.cluster import Cluster
from mockbroker.state.timers import NEVER

__all__ = ["Clock", "MemoryConnection", "MemoryServer"]

T = TypeVar("T")

_PORT = 9092


class Clock(Protocol):
    """Time and timers that drive a cluster in memory."""

    def now(self) -> float:
        """Return the time in seconds."""

    def at(self, when: float, call: Callable[[], None]) -> None:
        """Make a call at a time; if that is past, soon, but not within this call."""


class MemoryServer:
    """Brokers of a cluster at the addresses broker-1:9092, broker-2:9092 and so on.

    One thread may use it, with the cluster, its faults and its journal.
    """

    def __init__(self, cluster: Cluster, clock: Clock) -> None:
        self.cluster = cluster
        self.observers = Observation(cluster, self)
        self.faults = self.observers.faults
        self.journal = self.observers.journal
        self.services = ClusterServices(cluster, self.observers)
        self.groups = self.services.groups
        self._clock = clock
        self._numbers = count(1)
        self._connections: dict[MemoryConnection, int] = {}
        self._timers_run_at = NEVER
        cluster.timers.on_earlier = self._run_timers_at
        for broker in cluster.brokers.values():
            broker.host, broker.port = f"broker-{broker.id}", _PORT

    def call(self, action: Callable[[], T]) -> T:
        """Run an action: in one thread nothing else touches the cluster meanwhile."""
        return action()

    def wait_until(self, condition: Callable[[], bool], timeout: float) -> bool:
        """Return True if a condition is true: time stands still while the caller waits."""
        return condition()

    @property
    def bootstrap(self) -> str:
        """The addresses of all brokers, as clients take them in bootstrap.servers."""
        return ",".join(format_address(broker.host, broker.port) for broker in self.cluster.brokers.values())

    def accept(self, host: str, port: int, send: Callable[[bytes], None], close: Callable[[], None]) -> MemoryConnection | None:
        """Connect to a broker; None if no broker listens there. The connection calls `send` and `close`, the client's side."""
        for broker in self.cluster.brokers.online():
            if (broker.host, broker.port) == (host, port):
                connection = MemoryConnection(self, self._clock, broker, next(self._numbers), send, close)
                self._connections[connection] = broker.id
                return connection
        return None

    def stop_broker(self, broker_id: int) -> None:
        """Cut the connections of a broker, and move its partitions to other leaders."""
        self.cluster.stop_broker(broker_id)
        for connection in [one for one, owner in self._connections.items() if owner == broker_id]:
            connection.cut()

    def start_broker(self, broker_id: int) -> None:
        """Start a broker that was stopped."""
        self.cluster.start_broker(broker_id)

    def move_broker(self, broker_id: int, host: str) -> None:
        """Give a broker another host. Its connections stay; new ones are refused at the old address."""
        self.cluster.brokers[broker_id].host = host

    def forget(self, connection: MemoryConnection) -> None:
        """Remove a connection that has ended."""
        self._connections.pop(connection, None)

    def _run_timers_at(self, deadline: float) -> None:
        if deadline < self._timers_run_at:
            self._timers_run_at = deadline
            self._clock.at(deadline, lambda: self._run_timers(deadline))

    def _run_timers(self, deadline: float) -> None:
        if deadline == self._timers_run_at:  # otherwise an earlier run has replaced this one
            self._timers_run_at = NEVER
            self.cluster.timers.run(self._clock.now())
            self._run_timers_at(self.cluster.timers.next_deadline)


class MemoryConnection:
    """Broker's end of one connection."""

    __slots__ = ("_clock", "_close", "_connection", "_ended", "_send", "_server")

    def __init__(
        self,
        server: MemoryServer,
        clock: Clock,
        broker: Broker,
        number: int,
        send: Callable[[bytes], None],
        close: Callable[[], None],
    ) -> None:
        self._server = server
        self._clock = clock
        self._send = send
        self._close = close
        self._connection = ServerConnection(server.services, broker, number, lambda: clock.at(clock.now(), self._resume))
        self._ended = False

    def received(self, data: bytes) -> None:
        """Take bytes from the client, in order, in pieces of any size."""
        if not self._ended:
            self._connection.received(data)
            self._resume()

    def closed(self) -> None:
        """End the connection: the client has closed it."""
        self._ended = True
        self._connection.lost()
        self._server.forget(self)

    def cut(self) -> None:
        """Close the connection from the broker's side."""
        if not self._ended:
            self.closed()
            self._close()

    def _resume(self) -> None:
        """Serve all requests that can be served now."""
        if self._ended:
            return
        while self._serve():
            pass
        if self._connection.closing:
            self.cut()

    def _serve(self) -> bool:
        """Serve until nothing is left to do or the output is full, and send the output; True if there was any."""
        while self._connection.serve(self._clock.now()):
            pass
        parts = self._connection.take_output()
        if parts:
            self._send(b"".join(parts))
        return bool(parts)
