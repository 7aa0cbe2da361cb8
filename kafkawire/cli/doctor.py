"""`kafkawire doctor`: what is installed, and what serves the features that have several implementations."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from importlib import import_module
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from kafkawire.cli import options
from kafkawire.protocol import accelerators
from kafkawire.version import __version__

__all__ = ["command"]

FEATURES = ("compression", "crc32c", "murmur2", "records")
"""Modules of kafkawire.protocol that enter what they can do in several ways into the registry when they are loaded."""
LIBRARIES = {"numpy": "fast", "pyarrow": "arrow", "pyspark": "spark"}
"""Optional library -> the extra that brings it."""


@click.command("doctor")
@options.as_json
def command(as_json: bool) -> None:
    """Show what is installed, and what serves checksums and compression."""
    found = findings()
    if as_json:
        print(json.dumps(found, indent=2))
    else:
        Console().print(_table(found))


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


def _table(found: dict[str, Any]) -> Table:
    table = Table("What", "Found")
    table.add_row("kafkawire", found["kafkawire"])
    table.add_row("Python", found["python"], end_section=True)
    for feature, implementation in sorted(found["features"].items()):
        table.add_row(feature, implementation or _advice("fast"))
    table.add_section()
    for library, version in found["libraries"].items():
        table.add_row(library, version or _advice(LIBRARIES[library]))
    return table


def _advice(extra: str) -> str:
    # A backslash, since rich takes brackets for markup.
    return f"nothing: pip install 'kafkawire\\[{extra}]'"
