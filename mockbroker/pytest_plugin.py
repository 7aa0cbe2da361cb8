"""The pytest plug-in: the fixture `mock_kafka`, a cluster of its own for each test, and the marker that sets it up.

pytest loads it in every run where the distribution is installed, so it imports the mock only when a test asks for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mockbroker.mock import MockCluster

__all__ = ["mock_kafka", "pytest_configure"]


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", 'mock_kafka(brokers=3, topics={}, version="4.3", ...): how to start the cluster of the fixture mock_kafka'
    )


@pytest.fixture
def mock_kafka(request: pytest.FixtureRequest) -> Iterator[MockCluster]:
    """A running mock cluster of 3 brokers; `@pytest.mark.mock_kafka(...)` takes the arguments of MockCluster."""
    from mockbroker import MockCluster

    marker = request.node.get_closest_marker("mock_kafka")
    with MockCluster(*(marker.args if marker else ()), **(marker.kwargs if marker else {})) as cluster:
        yield cluster
