"""The mock broker coordinates groups as Kafka does: both get the same requests, and the answers are compared."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker import MockCluster
from tests.interop import group_membership, group_offsets
from tests.interop.brokers import BEFORE, NEWEST, real_broker
from tests.interop.conversations import Talk
from tests.interop.parity import request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.real.broker import RealKafka

pytestmark = pytest.mark.real

CONFIG = {"group.min.session.timeout.ms": "200", "group.max.size": "3", "offsets.topic.num.partitions": "4"}
"""Short sessions and small groups, so that both limits are soon reached."""


@pytest.fixture(scope="module", params=[NEWEST, BEFORE])
def release(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def mock(release: str) -> Iterator[MockCluster]:
    with MockCluster(1, topics={"t": 2, "u": 2}, version=release, config=CONFIG) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def real(release: str) -> Iterator[RealKafka]:
    """A real broker with the topics and with a group coordinator that answers."""
    config = {name.replace(".", "_"): value for name, value in CONFIG.items()}
    with real_broker(release, **config) as broker, ExitStack() as stack:
        talk = Talk(broker.bootstrap, stack)
        topics = [{"name": name, "numPartitions": 2, "replicationFactor": 1} for name in ("t", "u")]
        talk.do(request("CreateTopics", topics=topics), 7)
        for key in range(20):  # some for each partition of __consumer_offsets
            talk.wake(f"group {key}")
        yield broker


@pytest.mark.parametrize("questions", [*group_membership.SCENARIOS, *group_offsets.SCENARIOS], ids=lambda one: one.__name__)
def test_same_answers(real: RealKafka, mock: MockCluster, questions: Callable[[Talk, str], None]) -> None:
    expected, found = answers(real.bootstrap, questions), answers(mock.bootstrap, questions)
    assert [what for what, _ in found] == [what for what, _ in expected]
    for (what, answer), (_, wanted) in zip(found, expected, strict=True):
        assert answer == wanted, what


def answers(bootstrap: str, questions: Callable[[Talk, str], None]) -> list[tuple[str, Any]]:
    with ExitStack() as stack:
        talk = Talk(bootstrap, stack)
        questions(talk, questions.__name__)
        return talk.answers
