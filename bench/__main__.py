"""`python -m bench`: measure all numbers, or those named, and print them."""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from dataclasses import replace

from bench import messages, mock, poll, poll_arrow, records, rtt, send, send_keyed, send_many, spark_read, startup
from bench.cluster import PARTITIONS, Topics, running
from bench.conditions import conditions
from bench.harness import Contender, Failure, Line, Row, Topic, measure, measure_together
from bench.report import print_table, shown, write
from tests.real.jvm import StartError
from tests.real.releases import FetchError

MODULES = (send, send_keyed, send_many, poll, poll_arrow, spark_read, rtt, startup, messages, records, mock)
ROWS = [row for module in MODULES for row in module.ROWS]

WORTH_WRITING = 5
"""Rounds whose median may be shown to others."""


def main() -> None:
    options = _options()
    named = [row for row in ROWS if not options.names or row.name in options.names]
    rows = [row.shortened() for row in named] if options.quick else named
    measured = conditions(options.bootstrap)
    for name, value in measured.items():
        print(f"{name}: {value}")
    results = _results(rows, options)
    print_table(results)
    if options.write:
        write(results, measured)
    sys.exit(any(line.failed for _, lines in results for line in lines))


def _results(rows: list[Row], options: argparse.Namespace) -> list[tuple[Row, list[Line]]]:
    """Measure all rows. Rows that share a process need no broker, and come last, when it has stopped."""
    together = [row for row in rows if row.together]
    apart = [row for row in rows if not row.together]
    results = []
    try:
        if apart:
            with running(options.bootstrap) as bootstrap, closing(Topics(bootstrap)) as topics:
                results = [(row, compare(row, topics, options.rounds, options.limit)) for row in apart]
    except (FetchError, StartError) as error:
        sys.exit(f"no broker to measure against: {error}\nOne of yours will do: --bootstrap host:port")
    return results + [(row, compare_together(row, options.rounds, options.limit)) for row in together]


def compare(row: Row, topics: Topics, rounds: int, limit: float) -> list[Line]:
    """Run the contenders of a row by turns, in alternating order; a failure ends the runs of that contender.

    One more round comes first and does not count: it warms up the broker and the page cache.
    """
    lines = _lines(row)
    for number in range(rounds + 1):
        running_lines = [line for line in (lines if number % 2 else reversed(lines)) if not line.remark]
        for line in running_lines:
            try:
                figure = _run(row, line.contender, topics, limit)
            except Failure as failure:
                line.remark, line.failed = str(failure), True
                print(f"  {line.contender.name}: {failure}", flush=True)
                continue
            print(f"  {line.contender.name}: {shown(row, figure)}{'' if number else ' (does not count)'}", flush=True)
            if number:
                line.figures.append(figure)
    return lines


def compare_together(row: Row, rounds: int, limit: float) -> list[Line]:
    """Measure the contenders of a row by turns in one process."""
    lines = _lines(row)
    present = [line for line in lines if not line.remark]
    try:
        found = measure_together([line.contender for line in present], row.job, rounds + 1, limit)
    except Failure as failure:
        for line in present:
            line.remark, line.failed = str(failure), True
        print(f"  {failure}", flush=True)
        return lines
    for line, (_, *samples) in zip(present, found, strict=True):
        line.figures += map(row.figure, samples)
        print(f"  {line.contender.name}: {shown(row, *line.figures)}", flush=True)
    return lines


def _lines(row: Row) -> list[Line]:
    print(f"\n{row.title}, {row.job.count:,} {'records' if row.rate and not row.together else 'times'}", flush=True)
    lines = [Line(contender) for contender in row.contenders]
    for line in lines:
        if not line.contender.available():
            line.remark = "missing: not installed"
    return lines


def _run(row: Row, contender: Contender, topics: Topics, limit: float) -> float:
    with topics.of(row.topic, row.job) as topic:
        job = replace(row.job, bootstrap=topics.bootstrap, topic=topic, partitions=PARTITIONS)
        sample = measure(contender, job, limit)
        if row.topic == Topic.EMPTY:
            topics.check_sent(topic, sample.done)
    return row.figure(sample)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    names = sorted({row.name for row in ROWS})
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which numbers, all if none is named: {', '.join(names)}")
    parser.add_argument("--rounds", type=int, default=5, help="runs of each client (default 5)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the records: shows that it works, measures nothing")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS", help="for one run (default 120)")
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="a broker of yours, in place of one started here")
    parser.add_argument("--write", action="store_true", help="put the tables into bench/README.md")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(names))
    if unknown:
        parser.error(f"no such number: {', '.join(unknown)} (there are {', '.join(names)})")
    if options.rounds < 1:
        parser.error("--rounds has to be 1 at least")
    if options.write and (options.names or options.quick or options.rounds < WORTH_WRITING):
        parser.error(f"--write wants all numbers, in full, in {WORTH_WRITING} rounds at least")
    return options


if __name__ == "__main__":
    main()
