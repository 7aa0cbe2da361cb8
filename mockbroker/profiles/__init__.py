"""Profiles of Kafka versions: APIs that brokers serve, and their reaction to others. Recorded facts, one file a version.

`python -m tests.real.record_profiles` writes the files beside this one from real brokers. A file is read when its version is
asked for.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

__all__ = ["LATEST", "Profile", "Ranges", "profile"]

LATEST = "4.4"

Ranges = dict[int, tuple[int, int]]
"""Lowest and highest version by API key."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Profile:
    """Profile of one broker version."""

    version: tuple[int, ...]
    release: str
    """Release that was recorded."""
    apis: Ranges
    """APIs that ApiVersions of the real broker lists."""
    refused: Ranges
    """Versions that ApiVersions lists for the sake of old clients, and the broker does not serve (KAFKA-18659)."""
    supported_features: dict[str, list[int]]
    """Lowest and highest level of each feature by name (KIP-584)."""
    finalized_features: dict[str, list[int]]
    finalized_features_epoch: int
    """Epoch of the finalized features; -1 in versions without features."""
    kraft: bool
    """True for versions without ZooKeeper: brokers forward requests to the controller, and new topics are unknown at first."""
    hangs_on_unknown: bool
    """True if a request that is not served is never answered, nor any after it; False if it ends the connection."""
    lists_itself_on_downgrade: bool
    """True if the error 35 to an unknown ApiVersions version lists ApiVersions itself (KIP-511); False if it lists nothing."""

    @property
    def magic(self) -> int:
        """Record format of the log (`log.message.format.version`)."""
        if self.version < (0, 10):
            return 0
        return 1 if self.version < (0, 11) else 2


def profile(version: str) -> Profile:
    """Profile of a Kafka version such as "2.8" or "0.10.2.1": the newest recorded one that is not newer.

    Raises ValueError for text that is no version, and for one before 0.8.2 or after the newest file.
    """
    try:
        wanted = _number(version)
    except ValueError:
        raise ValueError(f"{version!r} is not a Kafka version such as '2.8'") from None
    files = {_number(path.stem): path for path in Path(__file__).parent.glob("*.json")}
    known = [number for number in files if number <= wanted]
    if not known or wanted[:2] > max(files)[:2]:
        raise ValueError(f"no mock of Kafka {version}: versions 0.8.2 to {LATEST} are known")
    return _read(files[max(known)])


def _number(version: str) -> tuple[int, ...]:
    """Parse a version for comparisons: 0.10, 0.10.0 and 0.10.0.0 are equal."""
    parts = [int(part) for part in version.split(".")]
    return (*parts, *[0] * (4 - len(parts)))


@cache
def _read(path: Path) -> Profile:
    facts = json.loads(path.read_text(encoding="utf-8"))
    return Profile(
        version=tuple(map(int, path.stem.split("."))),
        apis=_ranges(facts.pop("apis")),
        refused=_ranges(facts.pop("refused")),
        **facts,
    )


def _ranges(rows: list[tuple[int, str, int, int]]) -> Ranges:
    return {key: (lowest, highest) for key, _name, lowest, highest in rows}
