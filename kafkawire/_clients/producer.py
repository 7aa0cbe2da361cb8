"""Base of the blocking and the asyncio Producer."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

from kafkawire._clients.connection import ConnectedBase
from kafkawire._clients.deliveries import DeliveryBase
from kafkawire._clients.live_producers import keep_until_sent
from kafkawire.config import ProducerOptions, forget_secrets, from_properties
from kafkawire.core.produce.accumulator import Counts
from kafkawire.core.produce.fast_append import no_short_append
from kafkawire.core.produce.flows import ProducerCore

__all__ = ["ProducerBase"]


class ProducerBase(ConnectedBase):
    """Owns the core of a producer, and has the calls that never wait."""

    _delivery: ClassVar[type[DeliveryBase]]

    def _setup(self, options: ProducerOptions) -> None:
        """Make the core; the last step of the constructor, once `_connection` is set."""
        forget_secrets(options)
        self.options = options
        self._servers = options["bootstrap_servers"]
        self._core = ProducerCore(self._connection.client, options, self._delivery)
        self._append = self._core.accumulator.append
        self._short_append = self._core.accumulator.short_append if self._core.plain else no_short_append
        keep_until_sent(self._core, self._connection.net)
        self._open = True

    def _drop(self) -> bool:
        net = self._connection.net
        if net.closed:
            return False
        net.finalize(partial(self._core.finish, "the producer was dropped unclosed"))
        return True

    @classmethod
    def from_properties(cls, properties: Mapping[str, Any]) -> Self:
        """Make a producer from dotted Kafka properties, as `{"bootstrap.servers": ..., "linger.ms": 5}`."""
        return cls(**from_properties(ProducerOptions, properties))

    def counts(self) -> Counts:
        """Return the numbers of records so far: accepted = acknowledged + failed + queued, at any time."""
        return self._core.counts()
