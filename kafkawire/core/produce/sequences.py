"""The producer id under which batches are numbered, so that a broker writes a retried batch only once (KIP-98)."""

from __future__ import annotations

import logging

from kafkawire.config import ProducerOptions
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.router import AnyBroker
from kafkawire.core.cluster.single_flight import SingleFlight
from kafkawire.core.produce.accumulator import Accumulator
from kafkawire.errors import AuthorizationError, ConfigurationError, KafkaError, UnsupportedVersionError, broker_error
from kafkawire.net.base import NEVER
from kafkawire.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

__all__ = ["Idempotence"]

log = logging.getLogger("kafkawire.producer")

MAX_IN_FLIGHT = 5
"""Batches of a producer that a broker remembers per partition (trap 62)."""


class Idempotence:
    """Whether batches are numbered, and under which (producer id, epoch).

    `active` falls to False where the broker cannot (before 0.11) or may not do it and it was not asked for by name.
    """

    def __init__(self, client: ClusterClient, accumulator: Accumulator, options: ProducerOptions) -> None:
        self.active = _wanted(options)
        self.producer = (-1, -1)
        self._required = options["enable_idempotence"] is True
        self._client = client
        self._accumulator = accumulator
        self._timeout = options["request_timeout_ms"] / 1000
        self._needed = self.active
        self._granted: tuple[int, int] | None = None
        self._refused: KafkaError | None = None
        self._error: KafkaError | None = None
        self._failures = 0
        self._retry_at = 0.0
        self._flight = SingleFlight(client.net, self._ask, "kafkawire-producer-id")

    def renew(self, why: str) -> None:
        """The sequence of a partition is broken: a new producer id is needed before anything else is sent."""
        if self.active and not self._needed:
            log.warning("asking for a new producer id: %s; records sent again may be written twice", why)
            self._needed = True

    def ready(self, now: float, nothing_in_flight: bool) -> tuple[bool, float]:
        """Whether batches may be sent; if not, when to look again. Raises what makes it impossible for good."""
        if not self._needed:
            return True, NEVER
        if self._refused is not None:
            if self._required:
                raise self._refused
            log.info("sending without idempotence: %s", self._refused)
            self.active = self._needed = False
            return True, NEVER
        if self._granted is not None and nothing_in_flight:
            self.producer, self._granted = self._granted, None
            self._needed = False
            self._accumulator.restart_sequences()
            return True, NEVER
        if self._granted is None and nothing_in_flight:
            if now < self._retry_at:
                return False, self._retry_at
            self._flight.start(self._accumulator.signal)
        return False, NEVER

    @property
    def trouble(self) -> KafkaError | None:
        """Why the last attempt to get the producer id that is needed has failed."""
        return self._error if self._needed else None

    async def _ask(self) -> None:
        client = self._client
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        try:
            deadline = client.net.now() + self._timeout
            answer: InitProducerIdResponse = await client.router.ask(request, AnyBroker(), deadline)
            if answer.error_code:
                raise broker_error(answer.error_code, "InitProducerId")
        except KafkaError as error:
            self._error = error
            if isinstance(error, UnsupportedVersionError | AuthorizationError):
                self._refused = error
            self._failures += 1
            self._retry_at = client.net.now() + client.retry_backoff.delay(self._failures)
            return
        self._failures = 0
        self._error = None
        self._granted = (answer.producer_id, answer.producer_epoch)


def _wanted(options: ProducerOptions) -> bool:
    in_flight = options["max_in_flight_requests_per_connection"]
    obstacles = [
        text
        for obstacle, text in (
            (options["acks"] not in ("all", -1), f"acks={options['acks']!r} (it needs 'all')"),
            (options["retries"] == 0, "retries=0"),
            (in_flight > MAX_IN_FLIGHT, f"max_in_flight_requests_per_connection={in_flight} (at most {MAX_IN_FLIGHT})"),
        )
        if obstacle
    ]
    if options["enable_idempotence"] and obstacles:
        raise ConfigurationError(f"enable_idempotence=True contradicts {' and '.join(obstacles)}")
    return options["enable_idempotence"] is not False and not obstacles
