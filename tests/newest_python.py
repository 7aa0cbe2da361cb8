"""Prints the newest Python of this machine, if it is newer than the one that runs this: of the PATH's and pyenv's.

`make test-newest` asks for it. What Python compiles loops and `with` statements to changes from release to release, and whether
interrupts pass by locks with it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

TELL = "import sys, ensurepip; print(sys.version_info.releaselevel == 'final' and '%d.%d' % sys.version_info[:2])"


def installed() -> Iterator[Path]:
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    folders = [*map(Path, os.get_exec_path()), *pyenv.glob("versions/*/bin")]
    return (python for folder in folders for python in folder.glob("python3.*") if python.suffix[1:].isdecimal())


def version(python: Path) -> tuple[int, ...]:
    """(3, 13); () for what does not run, cannot make a virtual environment, or is not released yet."""
    try:
        told = subprocess.run([python, "-c", TELL], capture_output=True, text=True, check=True, timeout=60).stdout
        return tuple(map(int, told.split(".")))
    except (OSError, ValueError, subprocess.SubprocessError):
        return ()


def newest() -> Path | None:
    found = max(((version(python), python) for python in installed()), default=((), None))
    return found[1] if found[0] > sys.version_info[:2] else None


if __name__ == "__main__":
    print(newest() or "")
