"""What brokers of each Kafka version serve, and how they treat what they do not: one row per version."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LATEST", "Profile", "profile"]

# FindCoordinator and InitProducerId are shortened; the row of API keys is what counts.
_TABLE = """
version Produce Fetch ListOffsets Metadata OffsetCommit OffsetFetch Coordinator ApiVersions CreateTopics DeleteTopics ProducerId
key     0       1     2           3        8            9           10          18          19           20           22
0.8.2   0-0     0-0   0-0         0-0      0-1          0-1         0-0         -           -            -            -
0.9     0-1     0-1   0-0         0-0      0-2          0-1         0-0         -           -            -            -
0.10.0  0-2     0-2   0-0         0-1      0-2          0-1         0-0         0-0         -            -            -
0.10.1  0-2     0-3   0-1         0-2      0-2          0-1         0-0         0-0         0-0          0-0          -
0.10.2  0-2     0-3   0-1         0-2      0-2          0-2         0-0         0-0         0-1          0-0          -
0.11    0-3     0-5   0-2         0-4      0-3          0-3         0-1         0-1         0-2          0-1          0-0
1.0     0-5     0-6   0-2         0-5      0-3          0-3         0-1         0-1         0-2          0-1          0-0
1.1     0-5     0-7   0-2         0-5      0-3          0-3         0-1         0-1         0-2          0-1          0-0
2.0     0-6     0-8   0-3         0-6      0-4          0-4         0-2         0-2         0-3          0-2          0-1
2.1     0-7     0-10  0-4         0-7      0-6          0-5         0-2         0-2         0-3          0-3          0-1
2.2     0-7     0-10  0-5         0-7      0-6          0-5         0-2         0-2         0-3          0-3          0-1
2.3     0-7     0-11  0-5         0-8      0-7          0-5         0-2         0-2         0-3          0-3          0-1
2.4     0-8     0-11  0-5         0-9      0-8          0-6         0-3         0-3         0-5          0-4          0-2
2.5     0-8     0-11  0-5         0-9      0-8          0-7         0-3         0-3         0-5          0-4          0-3
2.6     0-8     0-11  0-5         0-9      0-8          0-7         0-3         0-3         0-5          0-4          0-3
2.7     0-8     0-12  0-5         0-9      0-8          0-7         0-3         0-3         0-6          0-5          0-4
2.8     0-9     0-12  0-6         0-11     0-8          0-7         0-3         0-3         0-7          0-6          0-4
3.0     0-9     0-12  0-7         0-11     0-8          0-8         0-4         0-3         0-7          0-6          0-4
3.1     0-9     0-13  0-7         0-12     0-8          0-8         0-4         0-3         0-7          0-6          0-4
3.5     0-9     0-15  0-8         0-12     0-8          0-8         0-4         0-3         0-7          0-6          0-4
3.7     0-10    0-16  0-8         0-12     0-9          0-9         0-4         0-3         0-7          0-6          0-4
3.8     0-11    0-16  0-8         0-12     0-9          0-9         0-5         0-3         0-7          0-6          0-5
3.9     0-11    0-17  0-9         0-12     0-9          0-9         0-6         0-4         0-7          0-6          0-5
4.0     0-12    4-17  1-10        0-13     2-9          1-9         0-6         0-4         2-7          1-6          0-5
4.1     0-13    4-18  1-10        0-13     2-9          1-9         0-6         0-4         2-7          1-6          0-5
4.2     0-13    4-18  1-11        0-13     2-10         1-10        0-6         0-4         2-7          1-6          0-5
4.3     0-13    4-18  1-11        0-13     2-10         1-10        0-6         0-4         2-7          1-6          0-5
"""

LATEST = "4.3"
_PRODUCE = 0


@dataclass(frozen=True, slots=True)
class Profile:
    """One broker version. `advertised` maps API keys to (lowest, highest) as ApiVersions lists them."""

    version: tuple[int, ...]
    advertised: dict[int, tuple[int, int]]

    def serves(self, api_key: int, version: int) -> bool:
        """Whether a request of this API and version is answered at all."""
        if api_key == _PRODUCE and self.version >= (4,) and version < 3:
            return False  # advertised for the sake of old librdkafka, refused all the same (KAFKA-18659)
        lowest, highest = self.advertised.get(api_key, (0, -1))
        return lowest <= version <= highest

    @property
    def magic(self) -> int:
        """The record format on disk (`log.message.format.version`)."""
        if self.version < (0, 10):
            return 0
        return 1 if self.version < (0, 11) else 2

    @property
    def kraft(self) -> bool:
        """Without ZooKeeper: every broker forwards to the controller, and new topics are unknown before they exist."""
        return self.version >= (3, 3)

    @property
    def hangs_on_unknown(self) -> bool:
        """0.9 neither answers nor closes when it meets an API or version that it does not know; others close."""
        return self.version[:2] == (0, 9)

    @property
    def lists_itself_on_downgrade(self) -> bool:
        """Since 2.4 the error 35 to an unknown ApiVersions version lists ApiVersions alone (KIP-511); before, nothing."""
        return self.version >= (2, 4)


def _ranges(cells: list[str], keys: list[int]) -> dict[int, tuple[int, int]]:
    pairs = ((key, cell.split("-")) for key, cell in zip(keys, cells, strict=True) if cell != "-")
    return {key: (int(lowest), int(highest)) for key, (lowest, highest) in pairs}


def _read_table() -> dict[tuple[int, ...], Profile]:
    _names, (_, *keys), *rows = (line.split() for line in _TABLE.strip().splitlines())
    profiles = (Profile(tuple(map(int, row[0].split("."))), _ranges(row[1:], list(map(int, keys)))) for row in rows)
    return {profile.version: profile for profile in profiles}


_PROFILES = _read_table()


def profile(version: str) -> Profile:
    """The profile of a Kafka version such as "2.8" or "0.10.2.1": the newest row that is not newer.

    Raises ValueError for what is no version, or older than 0.8.2 or newer than the table.
    """
    try:
        wanted = tuple(map(int, version.split(".")))
    except ValueError:
        raise ValueError(f"{version!r} is not a Kafka version such as '2.8'") from None
    known = [row for row in _PROFILES if row <= wanted]
    newest = max(_PROFILES)
    if not known or wanted[: len(newest)] > newest:
        raise ValueError(f"no mock of Kafka {version}: versions 0.8.2 to {LATEST} are known")
    return _PROFILES[max(known)]
