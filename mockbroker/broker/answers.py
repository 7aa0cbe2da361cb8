"""Answers of a handler: a response, a silence, or a wait after which the connection asks again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from kafkawire.protocol.schema import Response
from mockbroker.state.timers import NEVER
from mockbroker.state.waiting import Promise, Watchers

__all__ = ["CLOSE", "HANG", "NO_REPLY", "Answer", "Silence", "Wait", "when_complete"]


class Silence(Enum):
    """Answers without a response."""

    NO_REPLY = "the client expects no response"
    CLOSE = "close the connection"
    HANG = "serve nothing more on the connection, but leave it open"


NO_REPLY = Silence.NO_REPLY
CLOSE = Silence.CLOSE
HANG = Silence.HANG


@dataclass(slots=True)
class Wait:
    """Answer that is not ready: call `resume(now)` when one of `on` changes or at `deadline`, whichever comes first."""

    deadline: float
    on: Sequence[Watchers]
    resume: Callable[[float], Answer]


Answer = Response | Silence | Wait

T = TypeVar("T")


def when_complete(promise: Promise[T], respond: Callable[[T], Answer]) -> Answer:
    """Respond with the value of a promise, or wait until it has one."""
    if promise.value is not None:
        return respond(promise.value)
    return Wait(NEVER, (promise.completed,), lambda _now: when_complete(promise, respond))
