"""`kafkawire mock`: the mock broker's own command line."""

from __future__ import annotations

import click

from mockbroker.cli import main

__all__ = ["command"]


@click.command("mock", add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Run a mock cluster until Ctrl-C. Takes the options of python -m mockbroker, --help among them."""
    raise SystemExit(main(arguments))
