"""pytest plug-in: fixtures with a mock cluster for each test or for the whole run, and a marker for their arguments.

pytest loads this module in every run where the distribution is installed, so it imports the mock only when a test uses it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mockbroker.mock import MockCluster

__all__ = ["mock_kafka", "mock_kafka_options", "mock_kafka_session", "pytest_configure"]


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker `mock_kafka`."""
    config.addinivalue_line(
        "markers",
        'mock_kafka(brokers=3, topics={}, version="4.4", check_faults=False, ...): arguments of the cluster of the '
        "fixture mock_kafka; with check_faults a fault that never fired fails the test",
    )


@pytest.fixture(scope="session")
def mock_kafka_options() -> Mapping[str, Any]:
    """Return the arguments of MockCluster for both fixtures. Override it in a conftest.py."""
    return {}


@pytest.fixture
def mock_kafka(request: pytest.FixtureRequest, mock_kafka_options: Mapping[str, Any]) -> Iterator[MockCluster]:
    """Run a mock cluster of 3 brokers for one test; `@pytest.mark.mock_kafka(...)` takes the arguments of MockCluster."""
    from mockbroker import MockCluster

    marker = request.node.get_closest_marker("mock_kafka")
    options = {**mock_kafka_options, **(marker.kwargs if marker else {})}
    check_faults = options.pop("check_faults", False)
    with MockCluster(*(marker.args if marker else ()), **options) as cluster:
        yield cluster
        if check_faults:
            cluster.check_faults()


@pytest.fixture(scope="session")
def mock_kafka_session(mock_kafka_options: Mapping[str, Any]) -> Iterator[MockCluster]:
    """Run a mock cluster of 3 brokers for all tests of the run that use it: each test needs its own topics and groups."""
    from mockbroker import MockCluster

    with MockCluster(**mock_kafka_options) as cluster:
        yield cluster
