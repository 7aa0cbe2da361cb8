"""Answers that brokers should not give, beside those of `mockbroker.observe.fault_kinds`, and how often they give which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Unpack

from kafkawire.protocol.schema import Response
from mockbroker.observe.fault import Fault, Rule
from mockbroker.observe.selection import Api

__all__ = ["DATA", "BadAnswer", "Garble", "Lie", "Repeat"]

DATA = ("Produce", "Fetch", "ListOffsets", "Metadata", "InitProducerId")
"""The APIs that producers and consumers use, once they are connected."""

_SIZE = Struct(">i")


@dataclass(frozen=True, slots=True)
class BadAnswer:
    """Fault of a kind, with these options, at some of the requests of these APIs."""

    kind: type[Fault]
    probability: float
    options: Mapping[str, Any] = field(default_factory=dict)
    apis: tuple[str, ...] = DATA

    def fault(self, seed: int) -> Fault:
        kind: Any = self.kind
        fault: Fault = kind(self.apis, **self.options, probability=self.probability, seed=seed)
        return fault


class Repeat(Fault, name="repeat"):
    """Answer twice."""

    def damage_frame(self, frame: bytes) -> bytes:
        return frame + frame


class Garble(Fault, name="garble"):
    """Answer with a frame that ends too early to be decoded."""

    def damage_frame(self, frame: bytes) -> bytes:
        short = frame[4 : max(8, len(frame) - 3)]
        return _SIZE.pack(len(short)) + short


class Lie(Fault, name="lie"):
    """Ask for a pause, and serve on all the same."""

    def __init__(self, api: Api, throttle_time_ms: int, **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.throttle_time_ms = throttle_time_ms

    def change_response(self, response: Response) -> None:
        if hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = self.throttle_time_ms
