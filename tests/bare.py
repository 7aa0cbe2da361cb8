"""`pytest --bare`: the tests as they run where no optional package is installed, with those hidden that are."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import Any

import pytest

__all__ = ["OPTIONAL", "hidden", "hide", "package"]

OPTIONAL = frozenset({"numpy", "pyarrow", "crc32c", "snappy", "lz4", "cramjam", "zstandard"})
"""Optional packages that kafkawire.protocol uses if they are installed."""


class _Blocker:
    """The first finder on sys.meta_path, which finds that some packages do not exist."""

    def __init__(self, packages: frozenset[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, _path: object = None, _target: object = None) -> None:
        if name.partition(".")[0] in self.packages:
            raise ModuleNotFoundError(f"No module named {name!r}: it is hidden", name=name)


def hide(packages: Iterable[str] = OPTIONAL) -> None:
    """Make the import of packages fail for good, in this process. They must not have been imported yet."""
    packages = frozenset(packages)
    loaded = packages & set(sys.modules)
    if loaded:
        raise RuntimeError(f"already imported: {', '.join(sorted(loaded))}")
    sys.meta_path.insert(0, _Blocker(packages))


def hidden() -> frozenset[str]:
    """Packages that `hide` has hidden; empty in a usual run."""
    return frozenset().union(*(finder.packages for finder in sys.meta_path if isinstance(finder, _Blocker)))


def package(name: str) -> Any:
    """An optional package that a test needs itself; hidden, it skips the test, or the file that asks at its top."""
    if name.partition(".")[0] in hidden():
        pytest.skip(f"{name} is hidden by --bare", allow_module_level=True)
    return importlib.import_module(name)
