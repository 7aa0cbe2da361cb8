"""`python -m bench`: measure all numbers, or those named, and print them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace

from bench import poll, poll_arrow, rtt, send, send_keyed, send_many, spark_read, startup
from bench.cluster import PARTITIONS, Topics, running
from bench.harness import Contender, Failure, Line, Row, Topic, measure
from bench.report import conditions, print_table, shown, write

ROWS = [row for module in (send, send_keyed, send_many, poll, poll_arrow, spark_read, rtt, startup) for row in module.ROWS]


def main() -> None:
    options = _options()
    rows = [row for row in ROWS if not options.names or row.name in options.names]
    measured = conditions()
    for name, value in measured.items():
        print(f"{name}: {value}")
    results: list[tuple[Row, Sequence[Line]]] = []
    with running(options.bootstrap) as bootstrap, closing(Topics(bootstrap)) as topics:
        for row in rows:
            chosen = row.shortened() if options.quick else row
            results.append((chosen, compare(chosen, topics, options.rounds, options.limit)))
    print_table(results)
    if options.write:
        write(results, measured)
    sys.exit(any(not line.figures for _, lines in results for line in lines))


def compare(row: Row, topics: Topics, rounds: int, limit: float) -> list[Line]:
    """Run the contenders of a row by turns, in alternating order; a failure ends the runs of that contender."""
    print(f"\n{row.title}, {row.job.count:,} {'records' if row.rate else 'times'}", flush=True)
    lines = [Line(contender) for contender in row.contenders]
    for line in lines:
        if not line.contender.available():
            line.remark = "missing: not installed"
    for number in range(rounds):
        figures: dict[str, float] = {}
        for line in lines if number % 2 == 0 else reversed(lines):
            if line.remark:
                continue
            try:
                figure = _run(row, line.contender, topics, limit)
            except Failure as failure:
                line.remark = str(failure)
                print(f"  {line.contender.name}: {failure}", flush=True)
                continue
            print(f"  {line.contender.name}: {shown(row, figure)}", flush=True)
            line.figures.append(figure)
            figures[line.contender.name] = figure
        ours = figures.get(lines[0].contender.name)
        for line in lines[1:]:
            if ours is not None and line.contender.name in figures:
                line.ratios.append(ours / figures[line.contender.name])
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
    return options


if __name__ == "__main__":
    main()
