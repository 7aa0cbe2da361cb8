"""Every scenario with many seeds. A failing seed prints how to run it alone; `python -m tests.sim` runs any number."""

from __future__ import annotations

import pytest

from tests.requirements import CI
from tests.sim.scenarios import SCENARIOS
from tests.sim.simulation import run

SEEDS = 2_000 if CI else 100
"""Number of seeds of all scenarios together."""


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_records_arrive_once_and_in_order(scenario):
    for seed in range(SEEDS // len(SCENARIOS)):
        run(seed, scenario)


def test_equal_seeds_give_equal_runs():
    assert run(7) == run(7)
    assert len({run(seed, "leaders-move") for seed in range(5)}) == 5
