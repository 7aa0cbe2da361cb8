"""The command line, `kafkawire COMMAND`: one module a command, loaded when it is called. Needs the extra `cli`."""

from __future__ import annotations

import sys
from importlib.util import find_spec

__all__ = ["main"]


def main() -> int:
    """Run the command line; the exit code, where a command does not end the process itself."""
    missing = [name for name in ("click", "rich") if find_spec(name) is None]
    if missing:
        print(f"The command line needs {' and '.join(missing)}: pip install 'kafkawire[cli]'", file=sys.stderr)
        return 2
    from kafkawire.cli.app import app

    app(prog_name="kafkawire")
    return 0
