"""The click group of all commands: lists them and loads the module of the command that is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from kafkawire.cli.commands import COMMANDS, PLAIN, run_plain
from kafkawire.errors import KafkaError
from kafkawire.version import __version__

__all__ = ["app"]


class _Commands(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in PLAIN:
            return _passed_on(cmd_name)
        command: click.Command = import_module(f"kafkawire.cli.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors of clusters and options become one line, without a traceback."""
        try:
            return super().invoke(ctx)
        except KafkaError as error:
            raise click.ClickException(str(error)) from error


def _passed_on(name: str) -> click.Command:
    """A command that reads its own arguments, --help among them."""

    @click.command(name, add_help_option=False, context_settings={"ignore_unknown_options": True})
    @click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
    def command(arguments: tuple[str, ...]) -> None:
        raise SystemExit(run_plain(name, list(arguments)))

    return command


@click.command(cls=_Commands)
@click.version_option(__version__)
def app() -> None:
    """Kafka from the command line."""
