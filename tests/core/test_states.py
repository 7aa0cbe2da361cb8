"""Transitions of state machines."""

from __future__ import annotations

from enum import Enum

import pytest

from kafkawire.core.states import InvalidTransitionError, Transitions, transition


class Light(Enum):
    RED = "red"
    GREEN = "green"
    BROKEN = "broken"


TABLE: Transitions[Light] = {Light.RED: {Light.GREEN, Light.BROKEN}, Light.GREEN: {Light.RED}}


@pytest.mark.parametrize("old", Light)
@pytest.mark.parametrize("new", Light)
def test_only_the_transitions_of_the_table_are_allowed(old, new):
    if new in TABLE.get(old, ()):
        assert transition(TABLE, old, new, "the light") is new
    else:
        with pytest.raises(InvalidTransitionError, match=f"the light: no transition from {old.name} to {new.name}"):
            transition(TABLE, old, new, "the light")
