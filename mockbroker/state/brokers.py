"""Brokers of a cluster: their ids and addresses, and which of them are online."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kafkawire.errors import ErrorCode, broker_error
from mockbroker.state.topics import NO_LEADER

__all__ = ["Broker", "Brokers"]

_MOST_BROKERS = 1_000
_HIGHEST_BROKER_ID = 1_000_000_000


@dataclass(slots=True)
class Broker:
    """One broker: its id, and the address that it advertises, which the driver writes."""

    id: int
    host: str = "127.0.0.1"
    port: int = 0
    rack: str | None = None
    online: bool = True


class Brokers(dict[int, Broker]):
    """Brokers by id, in the order of their ids.

    count: brokers to begin with. first_id: id of the first one. racks: of the brokers, in turn. Raises ValueError.
    """

    def __init__(self, count: int, first_id: int, racks: Sequence[str]) -> None:
        super().__init__()
        if not 1 <= count <= _MOST_BROKERS:
            raise ValueError(f"a cluster of {count} brokers: there must be one at least, and {_MOST_BROKERS} at most")
        if not 0 <= first_id <= _HIGHEST_BROKER_ID:
            raise ValueError(f"a first broker id of {first_id}: it has to be 0 to {_HIGHEST_BROKER_ID}")
        self.first_id = first_id
        self._racks = racks
        for _ in range(count):
            self.add()

    def add(self) -> Broker:
        """Add a broker with the next id. It leads nothing yet."""
        broker = Broker(max(self, default=self.first_id - 1) + 1)
        if self._racks:
            broker.rack = self._racks[(broker.id - self.first_id) % len(self._racks)]
        self[broker.id] = broker
        return broker

    def existing(self, broker_id: int) -> Broker:
        """Find a broker. Raises BROKER_ID_NOT_REGISTERED."""
        if broker_id not in self:
            raise broker_error(ErrorCode.BROKER_ID_NOT_REGISTERED, f"there is no broker {broker_id}, only {list(self)}")
        return self[broker_id]

    def online(self) -> list[Broker]:
        return [broker for broker in self.values() if broker.online]

    @property
    def controller(self) -> Broker | None:
        """Online broker with the lowest id."""
        return next((broker for broker in self.values() if broker.online), None)

    def first_online(self, replicas: Iterable[int]) -> int:
        """First of these brokers that is online; NO_LEADER if none is."""
        return next((replica for replica in replicas if self[replica].online), NO_LEADER)
