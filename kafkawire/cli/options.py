"""Options that several commands share."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from kafkawire.config import ConnectionOptions, from_properties

__all__ = ["as_json", "cluster"]

PROPERTY = re.compile(r"\s*(?P<name>[^\s=:]+)\s*[=:]\s*(?P<value>.*?)\s*")
"""A line of a properties file. Continued lines and escapes are not read."""

LONGEST = 1_000_000
"""Longest timeout in seconds."""

as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def cluster(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options for reaching a cluster. The command gets them as `client`, keywords for `Connection`.

    `client` has no `bootstrap_servers` if none were given.
    """

    @click.option("-b", "--bootstrap", metavar="HOST:PORT", help="Some brokers, separated by commas.")
    @click.option(
        "-X", "--option", "settings", metavar="NAME=VALUE", multiple=True, help="An option, as ssl.cafile=ca.pem; repeatable."
    )
    @click.option(
        "--config",
        metavar="FILE",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A properties file of such options; what stands on the command line goes first.",
    )
    @click.option(
        "--timeout",
        metavar="SECONDS",
        type=float,
        default=5,
        show_default=True,
        help="How long the cluster may take to answer.",
    )
    @functools.wraps(command)
    def with_client(
        *, bootstrap: str | None, settings: tuple[str, ...], config: Path | None, timeout: float, **others: Any
    ) -> None:
        if not 0 < timeout < LONGEST:
            raise click.BadParameter(f"{timeout:g} is not between 0 and {LONGEST:,}.", param_hint="--timeout")
        logging.getLogger("kafkawire").addHandler(logging.NullHandler())  # errors are shown once, as the command's own
        properties = {"default.api.timeout.ms": str(max(1, round(timeout * 1000)))}
        if config is not None:
            properties |= _properties(_lines(config))
        properties |= _properties(("-X", setting) for setting in settings)
        if bootstrap is not None:
            properties["bootstrap.servers"] = bootstrap
        command(client=from_properties(ConnectionOptions, properties), **others)

    return with_client


def _lines(file: Path) -> Iterator[tuple[str, str]]:
    """Place and text of each line, without comments."""
    for number, line in enumerate(file.read_text("utf-8", "replace").splitlines(), start=1):
        if line.strip() and line.lstrip()[0] not in "#!":
            yield f"{file}, line {number}", line


def _properties(lines: Iterable[tuple[str, str]]) -> dict[str, str]:
    found = {}
    for place, line in lines:
        pair = PROPERTY.fullmatch(line)
        if pair is None:
            raise click.UsageError(f"{place} is not NAME=VALUE.")
        found[pair["name"]] = pair["value"]
    return found
