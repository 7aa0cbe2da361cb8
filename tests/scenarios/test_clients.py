"""Other client libraries go through the scenarios on a mock cluster, and see on real Kafka the very same, field by field."""

from __future__ import annotations

import re
from contextlib import ExitStack
from typing import TYPE_CHECKING, Self

import pytest

from tests.interop.brokers import BEFORE, NEWEST
from tests.scenarios.clients import CLIENTS, OLD_CLIENTS
from tests.scenarios.clusters import Mock, Real
from tests.scenarios.run import is_as_stated, run
from tests.scenarios.scenarios import SCENARIOS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.scenarios.clients import Client
    from tests.scenarios.clusters import Side
    from tests.scenarios.process import Adapter
    from tests.scenarios.run import Seen
    from tests.scenarios.scenarios import Scenario

pytestmark = [pytest.mark.heavy, pytest.mark.timeout(600)]  # the first test of a client may have to install it

BEFORE_IT = {f"{name} for {BEFORE}": client for name, client in CLIENTS.items()}
"""All clients with the release before the newest."""

OLD = {f"kafka-python 1.4.7 for {version}": client for version, client in OLD_CLIENTS.items()}
ALL_CLIENTS = CLIENTS | BEFORE_IT | OLD

REAL_VERSIONS = {
    **dict.fromkeys(CLIENTS, NEWEST),
    **dict.fromkeys(BEFORE_IT, BEFORE),
    "kafka-python 1.4.7 for 0.8.2": "0.8.2.2",
    "kafka-python 1.4.7 for 1.0": "1.0.2",
}
"""The broker that a client is put to; Kafka 4 no longer serves what kafka-python 1.4.7 speaks."""

BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}


def cases(*names: str) -> list[tuple[str, str]]:
    return [(name, scenario.name) for name in names for scenario in ALL_CLIENTS[name].scenarios()]


def real_cases() -> list[tuple[str, str]]:
    """Clusters of several brokers are to be had of the newest release."""
    everything = cases(*REAL_VERSIONS)
    return [(name, scenario) for name, scenario in everything if name in CLIENTS or BY_NAME[scenario].brokers == 1]


class Clusters:
    """One kind of cluster in as many sizes and versions as are asked for, and the adapter of the client that is at work."""

    def __init__(self, kind: Callable[[str, int], Side]) -> None:
        self._kind = kind
        self._sides: dict[tuple[str, int], Side] = {}
        self._stack = ExitStack()
        self._adapter: tuple[tuple[Client, Side], Adapter] | None = None

    def seen(self, name: str, scenario: Scenario, version: str, agree: list[Seen] | None = None) -> list[Seen]:
        """Outcomes that a client sees in a scenario."""
        client, side = ALL_CLIENTS[name], self.side(version, scenario.brokers)
        names = f"{re.sub('[^a-z0-9.]+', '-', f'{name} {scenario.name}'.lower())}-"
        try:
            return run(scenario, client, self._at_work(client, side), side, names, agree or ())
        except BaseException:
            self._dismiss()
            raise

    def side(self, version: str, brokers: int) -> Side:
        key = version, brokers
        if key not in self._sides:
            self._sides[key] = self._stack.enter_context(self._kind(version, brokers))
        return self._sides[key]

    def _at_work(self, client: Client, side: Side) -> Adapter:
        key = client, side
        if self._adapter is None or self._adapter[0] != key:
            self._dismiss()
            self._adapter = key, client.start(side.bootstrap)
        return self._adapter[1]

    def _dismiss(self) -> None:
        if self._adapter is not None:
            self._adapter[1].close()
            self._adapter = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._dismiss()
        self._stack.close()


@pytest.fixture(scope="module")
def mocks() -> Iterator[Clusters]:
    with Clusters(Mock) as clusters:
        for name, scenario in cases(*ALL_CLIENTS):  # before a test begins that is to end with the threads it began with
            clusters.side(mock_version(name), BY_NAME[scenario].brokers)
        yield clusters


@pytest.fixture(scope="module")
def reals() -> Iterator[Clusters]:
    with Clusters(Real) as clusters:
        yield clusters


@pytest.fixture(scope="module")
def on_mock(mocks: Clusters) -> dict[tuple[str, str], list[Seen]]:
    """Outcomes that clients saw on mock clusters so far."""
    return {}


def mock_version(name: str) -> str:
    return name.rpartition(" for ")[2] if name not in CLIENTS else NEWEST


def check(scenario: Scenario, seen: list[Seen]) -> None:
    for step, one in zip(scenario.steps, seen, strict=True):
        assert is_as_stated(step, one), f"{step.do} {step.fields}: {one}; stated: {step.answer or step.error}"


@pytest.mark.parametrize(("client", "scenario"), cases(*ALL_CLIENTS))
def test_client_works_with_mock(mocks: Clusters, on_mock: dict, client: str, scenario: str) -> None:
    seen = on_mock[client, scenario] = mocks.seen(client, BY_NAME[scenario], mock_version(client))
    check(BY_NAME[scenario], seen)


@pytest.mark.real
@pytest.mark.parametrize(("client", "scenario"), real_cases())
def test_real_kafka_shows_the_same(mocks: Clusters, reals: Clusters, on_mock: dict, client: str, scenario: str) -> None:
    on_mock_cluster = on_mock.get((client, scenario)) or mocks.seen(client, BY_NAME[scenario], mock_version(client))
    on_real_cluster = reals.seen(client, BY_NAME[scenario], REAL_VERSIONS[client], on_mock_cluster)
    check(BY_NAME[scenario], on_real_cluster)
    for step, mock, real in zip(BY_NAME[scenario].steps, on_mock_cluster, on_real_cluster, strict=True):
        assert mock == real, f"{step.do} {step.fields}"
