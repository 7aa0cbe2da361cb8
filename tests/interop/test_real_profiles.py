"""The mock's version profiles and configurations are those of real brokers: recorded anew, they come out the same."""

from __future__ import annotations

import json

import pytest

from tests.interop.brokers import NEWEST, real_broker
from tests.real import record_configs
from tests.real.record_profiles import data_file, record
from tests.real.releases import FetchError
from tests.requirements import missing

pytestmark = pytest.mark.real


@pytest.mark.parametrize("release", [NEWEST, *(pytest.param(old, marks=pytest.mark.heavy) for old in ("2.8.2", "0.10.2.2"))])
def test_recorded_anew_a_profile_is_the_same(release: str) -> None:
    with real_broker(release) as broker:
        assert record(broker.bootstrap, release) == json.loads(data_file(release).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "release", [NEWEST, *(pytest.param(old, marks=pytest.mark.heavy) for old in ("2.5.1", "1.0.2", "0.9.0.1"))]
)
def test_recorded_anew_configurations_are_the_same(release: str) -> None:
    try:
        found = record_configs.record(release)
    except FetchError as error:
        missing(str(error))
    assert found == record_configs.recorded()[data_file(release).stem]
