"""`kafkawire doctor`: installed packages, and the implementation in use of features that have several. Needs no package."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import platform
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from kafkawire.protocol import accelerators
from kafkawire.version import __version__

__all__ = ["main"]

FEATURES = ("compression", "crc32c", "murmur2", "records")
"""Modules of kafkawire.protocol that register features with several implementations when they are loaded."""
EXTRAS = {"Arrow": "arrow"}
"""Feature -> the extra that brings it, if that is not `fast`."""
LIBRARIES = {"numpy": "fast", "pyarrow": "arrow", "pyspark": "spark", "click": "cli", "rich": "cli"}
"""Optional library -> the extra that brings it."""


def main(arguments: Sequence[str]) -> int:
    """Run the command; the exit code. Ends the process with code 2 on wrong arguments, as argparse does."""
    parser = argparse.ArgumentParser(
        "kafkawire doctor", description="Show what is installed, and what serves checksums and compression."
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    found = findings()
    print(json.dumps(found, indent=2) if parser.parse_args(arguments).json else "\n".join(_lines(found)))
    return 0


def findings() -> dict[str, Any]:
    for module in FEATURES:
        import_module(f"kafkawire.protocol.{module}")
    return {
        "kafkawire": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()}, {platform.system()} {platform.machine()})",
        "features": accelerators.in_use(),
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def _lines(found: dict[str, Any]) -> Iterator[str]:
    rows = {"kafkawire": found["kafkawire"], "Python": found["python"]}
    rows |= {
        feature: found["features"][feature] or _advice(EXTRAS.get(feature, "fast")) for feature in sorted(found["features"])
    }
    rows |= {library: version or _advice(LIBRARIES[library]) for library, version in found["libraries"].items()}
    width = max(map(len, rows))
    return (f"{what:{width}}  {served_by}" for what, served_by in rows.items())


def _advice(extra: str) -> str:
    return f"nothing: pip install 'kafkawire[{extra}]'"
