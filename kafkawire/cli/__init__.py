"""The command line, `kafkawire COMMAND`: one module a command, loaded when it is called. Most need the extra `cli`."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from kafkawire.cli.commands import PLAIN, run_plain

__all__ = ["main"]


def main() -> int:
    """Run the command line; the exit code, where a command does not end the process itself."""
    missing = [name for name in ("click", "rich") if find_spec(name) is None]
    if not missing:
        from kafkawire.cli.app import app

        app(prog_name="kafkawire")
        return 0
    command, *arguments = sys.argv[1:] or [""]
    if command in PLAIN:
        return run_plain(command, arguments)
    advice = f"pip install 'kafkawire[cli]' (without it there are: {', '.join(PLAIN)})"
    print(f"The command line needs {' and '.join(missing)}: {advice}", file=sys.stderr)
    return 2
