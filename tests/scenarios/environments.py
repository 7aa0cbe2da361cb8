"""Environments of the adapters: made once, in the cache outside the repository, and made again when a list changes."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.requirements import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["go_program", "node_modules", "virtual_environment"]

INSTALL_TIMEOUT = 300


def virtual_environment(name: str, requirements: Sequence[str]) -> Path:
    """The Python of an environment of Python 3.11 that has just these packages. Skips the test where it cannot be made."""
    python = sys.executable if sys.version_info[:2] == (3, 11) else _tool("python3.11")

    def make(directory: Path) -> None:
        _run(python, "-m", "venv", str(directory))
        _run(str(directory / "bin/python"), "-m", "pip", "install", "--quiet", *requirements)

    return _made(name, "\n".join(requirements), make) / "bin/python"


def node_modules(name: str, packages: dict[str, str]) -> Path:
    """A directory `node_modules` with these packages. Skips the test where there is no npm or it fails."""
    npm = _tool("npm")
    package = json.dumps({"private": True, "dependencies": packages})

    def make(directory: Path) -> None:
        directory.mkdir()
        (directory / "package.json").write_text(package)
        _run(npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", cwd=directory)

    return _made(name, package, make) / "node_modules"


def go_program(name: str, source: Path) -> Path:
    """The program that is built of a directory with Go files. Skips the test where there is no Go or it fails."""
    go = _tool("go")
    files = sorted(source.iterdir())

    def make(directory: Path) -> None:
        shutil.copytree(source, directory)
        _run(go, "build", "-o", name, ".", cwd=directory)

    return _made(name, "".join(file.read_text() for file in files), make) / name


def _tool(name: str) -> str:
    """A tool's path. A machine without it is excused, since this project does not install other languages."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not on the PATH")
    return path


def _made(name: str, recipe: str, make: Callable[[Path], None]) -> Path:
    """A directory that `make` made by that recipe, once. Safe in several processes at once."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kafkawire" / "clients"
    base.mkdir(parents=True, exist_ok=True)
    directory, stamp = base / name, base / f"{name}.recipe"
    with (base / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not stamp.exists() or stamp.read_text() != recipe:
            stamp.unlink(missing_ok=True)
            shutil.rmtree(directory, ignore_errors=True)
            try:
                make(directory)
            except subprocess.SubprocessError as error:
                missing(f"{name} could not be installed: {error}: {getattr(error, 'stderr', '')}")
            stamp.write_text(recipe)
    return directory


def _run(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True, timeout=INSTALL_TIMEOUT)
