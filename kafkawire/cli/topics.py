"""`kafkawire topics`: the topics of a cluster."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Column, Table

from kafkawire import Connection
from kafkawire.cli import options
from kafkawire.config import ConnectionOptions

__all__ = ["command"]


@click.command("topics")
@options.cluster
@options.as_json
def command(client: ConnectionOptions, as_json: bool) -> None:
    """List the topics of a cluster with their partitions and replicas."""
    with Connection(**client) as connection:
        found = [_describe(connection, name) for name in connection.topics()]
    if as_json:
        print(json.dumps(found, indent=2))
        return
    table = Table("Topic", Column("Partitions", justify="right"), Column("Replicas", justify="right"))
    for topic in found:
        table.add_row(*map(str, topic.values()))
    Console().print(table)


def _describe(connection: Connection, name: str) -> dict[str, str | int]:
    partitions = connection.partitions(name)
    return {"topic": name, "partitions": len(partitions), "replicas": max(len(each.replicas) for each in partitions)}
