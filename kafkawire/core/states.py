"""State machines as data: an Enum of the states and a table of the transitions that are allowed.

A machine is declared in the file of the class that owns it:

    class DoorState(Enum):
        OPEN = "open"
        SHUT = "shut"

    TRANSITIONS: Transitions[DoorState] = {
        DoorState.OPEN: {DoorState.SHUT},
        DoorState.SHUT: {DoorState.OPEN},
    }

and its owner, the only one that writes the state, moves it by

    self.state = transition(TRANSITIONS, self.state, DoorState.SHUT, self)

A state that has no row in the table is final.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import TypeVar

__all__ = ["InvalidTransitionError", "Transitions", "transition"]

S = TypeVar("S", bound=Enum)

Transitions = Mapping[S, AbstractSet[S]]
"""For each state the states that may follow it."""


class InvalidTransitionError(AssertionError):
    """A state machine was asked for a transition that its table does not list: a defect of kafkawire, not of its user."""


def transition(table: Transitions[S], old: S, new: S, subject: object) -> S:
    """Return `new` if the table allows it after `old`.

    Raises InvalidTransitionError, which names `subject`, the object that is in the state.
    """
    if new not in table.get(old, ()):
        raise InvalidTransitionError(f"{subject}: no transition from {old.name} to {new.name}")
    return new
