"""Coordinators of groups and transactional ids: the look-up by FindCoordinator, and the cache of what it found."""

from __future__ import annotations

from collections.abc import Collection

from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.targets import Coordinator, CoordinatorKind
from kafkawire.errors import BrokerError, UnsupportedVersionError, broker_error
from kafkawire.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

__all__ = ["Coordinators"]

FIRST_BATCHED = 4
"""FindCoordinator version from which one request asks for several coordinators (KIP-699)."""
FIRST_VERSION = {CoordinatorKind.GROUP: 0, CoordinatorKind.TRANSACTION: 1, CoordinatorKind.SHARE: 6}
"""FindCoordinator version from which brokers know each kind of coordinator (KIP-98, KIP-932)."""


class Coordinators:
    """The node ids of coordinators, as far as they were looked up.

    Flows of any thread write it; each store adds or removes one entry.
    """

    def __init__(self) -> None:
        self._node_ids: dict[Coordinator, int] = {}

    def node_id(self, of: Coordinator) -> int | None:
        """Node id of a coordinator; None if it was not looked up, or was forgotten."""
        return self._node_ids.get(of)

    def forget(self, of: Coordinator) -> None:
        """Have a coordinator looked up again before it is asked the next time."""
        self._node_ids.pop(of, None)

    async def find(self, link: BrokerLink, sought: Collection[Coordinator], deadline: float) -> dict[Coordinator, BrokerError]:
        """Ask a broker for coordinators and remember them; returns the errors of those that were not found.

        Raises NetworkError, TimedOut or DecodeError, and UnsupportedVersionError for a kind that the broker is too old for.
        """
        errors: dict[Coordinator, BrokerError] = {}
        for kind in CoordinatorKind:
            keys = [each.key for each in sought if each.kind is kind]
            for answer in await _ask(link, kind, keys, deadline) if keys else ():
                of = Coordinator(kind, answer.key)
                if answer.error_code:
                    errors[of] = broker_error(answer.error_code, f"FindCoordinator of {of}")
                else:
                    self._node_ids[of] = answer.node_id
        return errors


async def _ask(
    link: BrokerLink, kind: CoordinatorKind, keys: list[str], deadline: float
) -> list[FindCoordinatorResponse.Coordinator]:
    version = link.version(FindCoordinatorRequest)
    if version < FIRST_VERSION[kind]:
        raise UnsupportedVersionError(f"{link.address} is too old for coordinators of the kind {kind.name.lower()}")
    if version >= FIRST_BATCHED:
        batch: FindCoordinatorResponse = await link.call(FindCoordinatorRequest(key_type=kind, coordinator_keys=keys), deadline)
        return batch.coordinators
    answers = []
    for key in keys:
        one: FindCoordinatorResponse = await link.call(FindCoordinatorRequest(key_type=kind, key=key), deadline)
        answers.append(FindCoordinatorResponse.Coordinator(key=key, node_id=one.node_id, error_code=one.error_code))
    return answers
