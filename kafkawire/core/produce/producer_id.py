"""Producer id and epoch, under which batches are numbered so that a broker writes a retried batch only once (KIP-98)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from enum import Enum

from kafkawire.config import ProducerOptions
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.cluster.targets import AnyBroker
from kafkawire.core.states import Transitions, transition
from kafkawire.errors import AuthorizationError, ConfigurationError, KafkaError, UnsupportedVersionError, broker_error
from kafkawire.net.base import NEVER, Signal, Task
from kafkawire.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

__all__ = ["ProducerId", "ProducerIdState"]

log = logging.getLogger("kafkawire.producer")

MAX_IN_FLIGHT = 5
"""Batches of a producer that a broker remembers per partition (trap 62)."""


class ProducerIdState(Enum):
    """Stage of getting a producer id.

    The states of a transaction (KIP-98, KIP-890) will stand between READY and NEEDED.
    """

    DISABLED = "disabled"
    """Batches are not numbered: by the options, or as brokers refuse it and it was not asked for by name."""
    NEEDED = "needed"
    """Nothing is sent. A producer id is asked for once nothing is in flight and the pause after a failure is over."""
    ASKING = "asking"
    """Nothing is sent. A broker is being asked for a producer id."""
    READY = "ready"
    """Batches are numbered and sent."""
    REFUSED = "refused"
    """Brokers refuse it for good though it was asked for by name: the producer cannot go on."""


TRANSITIONS: Transitions[ProducerIdState] = {
    ProducerIdState.NEEDED: {ProducerIdState.ASKING},
    ProducerIdState.ASKING: {
        ProducerIdState.READY,
        ProducerIdState.NEEDED,
        ProducerIdState.DISABLED,
        ProducerIdState.REFUSED,
    },
    ProducerIdState.READY: {ProducerIdState.NEEDED},
}


class ProducerId:
    """Producer id and epoch of a producer. All methods run in the sender's flow."""

    def __init__(
        self, client: ClusterClient, signal: Signal, restart_sequences: Callable[[], None], options: ProducerOptions
    ) -> None:
        self.state = ProducerIdState.NEEDED if _wanted(options) else ProducerIdState.DISABLED
        self.producer = (-1, -1)
        """Producer id and epoch."""
        self.retry_at = NEVER
        """Time at which `advance` has something to do, if nothing else happens."""
        self._required = options["enable_idempotence"] is True
        self._client = client
        self._signal = signal
        self._restart_sequences = restart_sequences
        self._timeout = options["request_timeout_ms"] / 1000
        self._asking: Task | None = None
        self._error: KafkaError | None = None
        self._failures = 0
        self._pause_until = 0.0

    @property
    def enabled(self) -> bool:
        """True if batches are numbered."""
        return self.state is not ProducerIdState.DISABLED

    @property
    def trouble(self) -> KafkaError | None:
        """Error of the last attempt to get the producer id that is needed."""
        return self._error if self.state in (ProducerIdState.NEEDED, ProducerIdState.ASKING) else None

    def renew(self, why: str) -> None:
        """Have nothing more sent before there is a new producer id: the sequence of a partition is broken."""
        if self.state is ProducerIdState.READY:
            log.warning("asking for a new producer id: %s; records sent again may be written twice", why)
            self._become(ProducerIdState.NEEDED)

    def advance(self, now: float, nothing_in_flight: bool) -> bool:
        """Ask for a producer id if one is needed, and take the answer; returns True if batches may be sent.

        Raises the error with which brokers refuse it for good, if idempotence was asked for by name.
        """
        self.retry_at = NEVER
        if self.state is ProducerIdState.ASKING and self._asking is not None and self._asking.done:
            self._take_answer(self._asking.value, now)
        if self.state is ProducerIdState.NEEDED and nothing_in_flight:
            if now >= self._pause_until:
                self._become(ProducerIdState.ASKING)
                self._asking = self._client.net.spawn(self._ask(), self._signal, "kafkawire-producer-id", brief=True)
            else:
                self.retry_at = self._pause_until
        if self.state is ProducerIdState.REFUSED and self._error is not None:
            raise self._error
        return self.state is ProducerIdState.READY or self.state is ProducerIdState.DISABLED

    def _take_answer(self, answer: tuple[int, int] | KafkaError | None, now: float) -> None:
        """Go on with a producer id and epoch, or with the error; the answer is None if the flow that asked was cut off."""
        if isinstance(answer, tuple):
            self.producer = answer
            self._failures = 0
            self._error = None
            self._restart_sequences()
            self._become(ProducerIdState.READY)
            return
        self._error = answer
        if not isinstance(answer, UnsupportedVersionError | AuthorizationError):
            self._failures += 1
            self._pause_until = now + self._client.retry_backoff.delay(self._failures)
            self._become(ProducerIdState.NEEDED)
        elif self._required:
            self._become(ProducerIdState.REFUSED)
        else:
            log.info("sending without idempotence: %s", answer)
            self._become(ProducerIdState.DISABLED)

    def _become(self, state: ProducerIdState) -> None:
        self.state = transition(TRANSITIONS, self.state, state, "producer id")

    async def _ask(self) -> tuple[int, int] | KafkaError:
        """Ask any broker once; returns its answer, or the error. Runs in a flow of its own, and changes nothing."""
        client = self._client
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        try:
            deadline = client.net.now() + self._timeout
            answer: InitProducerIdResponse = await client.router.ask(request, AnyBroker(), deadline)
            if answer.error_code:
                raise broker_error(answer.error_code, "InitProducerId")
        except KafkaError as error:
            return error
        return answer.producer_id, answer.producer_epoch


def _wanted(options: ProducerOptions) -> bool:
    """Return True if batches are to be numbered. Raises ConfigurationError for options that contradict it."""
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
