"""Each break of the table still fits the code. `python -m tests.mutations` applies them, which takes minutes."""

from __future__ import annotations

import pytest

from tests.mutations.__main__ import ROOT, mutated
from tests.mutations.table import MUTATIONS
from tests.sim.scenarios import SCENARIOS


@pytest.mark.parametrize("mutation", MUTATIONS, ids=[mutation.what for mutation in MUTATIONS])
def test_every_break_has_its_place_and_somebody_who_notices_it(mutation):
    text = (ROOT / mutation.path).read_text()
    assert mutated(mutation, text) != text
    for command in mutation.noticed_by:
        assert command in SCENARIOS or (ROOT / command.split()[0]).exists()
