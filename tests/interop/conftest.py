"""Real brokers for the tests in this directory, each started once a session, at the first test that asks for it."""

from __future__ import annotations

import itertools
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockCluster
from tests.interop.brokers import BEFORE, NEWEST, OLDEST, real_broker
from tests.interop.faces import FACES, Face
from tests.real.broker import SINGLE_BROKER, RealKafka

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_numbers = itertools.count()


@pytest.fixture(scope="session")
def real_kafka() -> Iterator[Callable[[str], RealKafka]]:
    """`real_kafka("2.8.2")` is a running broker of that release, shared by the session: use topics and groups of your own."""
    running: dict[str, RealKafka] = {}
    with ExitStack() as stack:

        def broker(version: str) -> RealKafka:
            if version not in running:
                running[version] = stack.enter_context(real_broker(version))
            return running[version]

        yield broker


@pytest.fixture(scope="session")
def kafka_newest(real_kafka: Callable[[str], RealKafka]) -> RealKafka:
    """The newest broker."""
    return real_kafka(NEWEST)


@pytest.fixture(scope="session")
def kafka_0822(real_kafka: Callable[[str], RealKafka]) -> RealKafka:
    """The oldest broker."""
    return real_kafka(OLDEST)


@pytest.fixture
def broker(request: pytest.FixtureRequest, real_kafka: Callable[[str], RealKafka]) -> RealKafka:
    """The release that the test is parametrised with."""
    return real_kafka(request.param)


@pytest.fixture(params=FACES)
def face(request: pytest.FixtureRequest) -> Iterator[Face]:
    """The blocking face, then the asyncio face."""
    with closing(FACES[request.param]()) as made:
        yield made


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A topic name that no other test uses."""
    return f"{request.node.originalname[:100]}-{next(_numbers)}"


@pytest.fixture(scope="module", params=[NEWEST, BEFORE])
def twins(request: pytest.FixtureRequest, real_kafka: Callable[[str], RealKafka]) -> Iterator[tuple[str, str]]:
    """The addresses of a real broker and of the mock of its release, which have the same configuration."""
    real = real_kafka(request.param)
    with MockCluster(1, version=request.param, config={name: str(value) for name, value in SINGLE_BROKER.items()}) as mock:
        yield real.bootstrap, mock.bootstrap
