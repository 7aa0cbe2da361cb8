"""Hiding optional packages, so that a test sees what a user without them sees."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

import pytest

from kafkawire.protocol import accelerators
from tests import bare

with contextlib.suppress(ImportError):
    import pyarrow as pa  # noqa: F401 - looks for numpy once, at its first import, which must not be while that is hidden

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ACCELERATORS", "hide", "with_and_without", "without"]

ACCELERATORS = ("numpy", "crc32c", "snappy", "lz4", "lz4.block", "cramjam")
"""Optional packages that have a pure Python counterpart."""

OURS = {
    "numpy": (
        "kafkawire.protocol.murmur2_numpy",
        "kafkawire.protocol.records.decode_numpy",
        "kafkawire.protocol.records.encode_numpy",
    ),
    "pyarrow": ("kafkawire.protocol.records.arrow",),
}
"""Modules that import a package when they are first imported, which may have been long ago."""


def hide(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Make the import of packages fail until the end of the test."""
    for package in packages:
        for module in (package, *OURS.get(package, ())):
            monkeypatch.setitem(sys.modules, module, None)
    accelerators.reset()


@contextlib.contextmanager
def without(*packages: str) -> Iterator[None]:
    """Make the import of packages fail for some lines of a test, where Hypothesis needs numpy for the others."""
    try:
        with pytest.MonkeyPatch.context() as patch:
            hide(patch, *packages)
            yield
    finally:
        accelerators.reset()


@pytest.fixture(params=["accelerated", "pure"])
def with_and_without(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Run a test with all accelerators, and with none; its value is "accelerated" or "pure"."""
    if request.param == "accelerated" and bare.hidden():
        pytest.skip("--bare hides the accelerators")
    accelerators.reset()
    if request.param == "pure":
        hide(monkeypatch, *ACCELERATORS)
    yield request.param
    monkeypatch.undo()
    accelerators.reset()
