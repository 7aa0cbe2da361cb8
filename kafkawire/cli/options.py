"""Options that several commands share."""

from __future__ import annotations

import click

__all__ = ["as_json", "bootstrap"]

bootstrap = click.option(
    "--bootstrap", metavar="HOST:PORT", default="localhost:9092", show_default=True, help="Some brokers, separated by commas."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
