"""APIs that the mock serves: those with a module in `handlers`, in the versions that a profile lists."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from pkgutil import iter_modules
from typing import Final

from kafkawire.protocol.messages import API_KEYS, module_name
from mockbroker.profiles import Profile, Ranges

__all__ = ["SERVED", "advertised", "serves"]

_MODULES: Final = {module.name for module in iter_modules([str(Path(__file__).with_name("handlers"))])}

SERVED: Final[dict[int, str]] = {key: name for name, key in API_KEYS.items() if module_name(name) in _MODULES}
"""Names of the APIs by key."""


@cache
def advertised(profile: Profile) -> Ranges:
    """Versions that ApiVersions lists: those of the real broker, for the APIs that have a handler."""
    return {key: versions for key, versions in profile.apis.items() if key in SERVED}


def serves(profile: Profile, api_key: int, version: int) -> bool:
    """True if a broker of this profile answers requests of the API and version."""
    return _within(advertised(profile), api_key, version) and not _within(profile.refused, api_key, version)


def _within(ranges: Ranges, api_key: int, version: int) -> bool:
    lowest, highest = ranges.get(api_key, (0, -1))
    return lowest <= version <= highest
