"""The mock's version profiles are what real brokers of those versions do: recorded anew, they come out the same."""

from __future__ import annotations

import json

import pytest

from tests.interop.brokers import NEWEST, real_broker
from tests.real.record_profiles import data_file, record

pytestmark = pytest.mark.real


@pytest.mark.parametrize("release", [NEWEST, *(pytest.param(old, marks=pytest.mark.heavy) for old in ("2.8.2", "0.10.2.2"))])
def test_recorded_anew_a_profile_is_the_same(release: str) -> None:
    with real_broker(release) as broker:
        assert record(broker.bootstrap, release) == json.loads(data_file(release).read_text(encoding="utf-8"))
