"""Outcome of the demo, and the check that all records arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kafkawire.cli.demo.data import Carrier

__all__ = ["Outcome"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Counts and summaries of each step of the demo."""

    loaded: int
    """Flights in the data set."""
    produced: int
    """Flights that the brokers acknowledged."""
    carriers: Sequence[Carrier]
    """The summaries, of the flights that were read."""
    written: int
    """Records in the topic of the summaries."""
    consumed: Sequence[Carrier]
    """The summaries that came back."""

    @property
    def read(self) -> int:
        """Flights that were read."""
        return sum(carrier.flights for carrier in self.carriers)

    def counts(self) -> str:
        """All counts in a line that programs can read."""
        return (
            f"demo: produced={self.produced} read={self.read} carriers={len(self.carriers)} "
            f"written={self.written} consumed={len(self.consumed)}"
        )

    def differences(self) -> list[str]:
        """Differences between counts, and between summaries, that should be equal, in words."""
        carriers, consumed = len(self.carriers), len(self.consumed)
        pairs = [
            ("flights produced", self.produced, "loaded", self.loaded),
            ("flights read", self.read, "produced", self.produced),
            ("summaries written", self.written, "worked out", carriers),
            ("summaries consumed", consumed, "written", self.written),
        ]
        found = [f"{count:,} {what}, {expected:,} {before}" for what, count, before, expected in pairs if count != expected]
        if consumed == carriers and sorted(self.consumed) != sorted(self.carriers):
            found.append("the summaries consumed are not those that were written")
        return found
