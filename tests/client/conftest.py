"""A cluster for each test, and both faces."""

from __future__ import annotations

import pytest

from mockbroker import MockCluster
from tests.client.faces import Blocking, OnLoop


@pytest.fixture(params=["blocking", "asyncio"])
def face(request):
    """`face.Producer`, `face.Consumer` and `face.Connection`, which a test calls as those of the blocking face."""
    if request.param == "blocking":
        yield Blocking()
        return
    with OnLoop() as on_loop:
        yield on_loop


@pytest.fixture
def kafka():
    """Three brokers; topic "one" has one partition, "many" has four."""
    with MockCluster(topics={"one": 1, "many": 4}) as cluster:
        yield cluster
