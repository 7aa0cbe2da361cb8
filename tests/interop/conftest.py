"""Real brokers for the tests in this directory, each started once a session, at the first test that asks for it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.real.broker import RealKafka
from tests.real.releases import FetchError
from tests.requirements import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture(scope="session")
def real_kafka() -> Iterator[Callable[[str], RealKafka]]:
    """`real_kafka("2.8.2")` is a running broker of that release, shared by the session: use topics and groups of your own."""
    running: dict[str, RealKafka] = {}
    with ExitStack() as stack:

        def broker(version: str) -> RealKafka:
            if version not in running:
                try:
                    running[version] = stack.enter_context(RealKafka(version))
                except FetchError as error:
                    missing(str(error))
            return running[version]

        yield broker


@pytest.fixture(scope="session")
def kafka_431(real_kafka: Callable[[str], RealKafka]) -> RealKafka:
    """The newest broker."""
    return real_kafka("4.3.1")


@pytest.fixture(scope="session")
def kafka_0822(real_kafka: Callable[[str], RealKafka]) -> RealKafka:
    """The oldest broker."""
    return real_kafka("0.8.2.2")
