"""Answers that brokers should not give, beside those of `mockbroker.observe.actions`, and how often they give which."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

from kafkawire.protocol.schema import Response
from mockbroker.observe.actions import Action

__all__ = ["DATA", "BadAnswer", "Garble", "Lie", "Repeat"]

DATA = ("Produce", "Fetch", "ListOffsets", "Metadata", "InitProducerId")
"""The APIs that producers and consumers use, once they are connected."""

_SIZE = Struct(">i")


@dataclass(frozen=True, slots=True)
class BadAnswer:
    """What some requests meet, of these APIs, with a probability."""

    action: Action
    probability: float
    apis: tuple[str, ...] = DATA


@dataclass(frozen=True, slots=True)
class Repeat(Action):
    """Answer twice."""

    def mangle(self, frame: bytes) -> bytes:
        return frame + frame


@dataclass(frozen=True, slots=True)
class Garble(Action):
    """Answer with a frame that ends too early to be decoded."""

    def mangle(self, frame: bytes) -> bytes:
        short = frame[4 : max(8, len(frame) - 3)]
        return _SIZE.pack(len(short)) + short


@dataclass(frozen=True, slots=True)
class Lie(Action):
    """Ask for a pause, and serve on all the same."""

    throttle_time_ms: int

    def change(self, response: Response) -> None:
        if hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = self.throttle_time_ms
