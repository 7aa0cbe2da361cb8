"""What was measured, as tables for the terminal and for README.md."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from bench.cluster import BROKER, PARTITIONS
from bench.harness import REPOSITORY, Line, Row
from bench.settings import CONSUMERS, POLL_RECORDS, PRODUCERS, ROWS_PER_CALL, SPARK

__all__ = ["HEADERS", "Results", "cells", "conditions", "print_table", "shown", "write"]

README = REPOSITORY / "bench" / "README.md"
BEGIN, END = "<!-- the last run -->\n", "<!-- end of the last run -->\n"
HEADERS = ["number", "client", "times", "runs", "median", "ratio", "goal", "aim"]
PACKAGES = ["kafkawire", "confluent-kafka", "kafka-python", "aiokafka", "pyspark", "pyarrow", "numpy", "crc32c"]
LOG_WIDTH = 150
"""Characters of a line where there is no terminal."""

Results = Sequence[tuple[Row, Sequence[Line]]]


def shown(row: Row, *figures: float) -> str:
    """Figures with their unit, which the first one decides."""
    if row.rate:
        digits, scale, unit = (2, 1e-6, "M/s") if figures[0] >= 1e6 else (0, 1e-3, "k/s")
    else:
        digits, scale, unit = (1, 1e3, "ms") if figures[0] >= 1e-3 else (0, 1e6, "us")
    return " ".join([*(f"{figure * scale:.{digits}f}" for figure in figures), unit])


def cells(results: Results) -> list[list[str]]:
    """The rows of the table, a line for each contender."""
    return [
        [row.title if line is lines[0] else "", *_line(row, line, first=line is lines[0])]
        for row, lines in results
        for line in lines
    ]


def _line(row: Row, line: Line, *, first: bool) -> list[str]:
    name = [line.contender.name, f"{line.contender.part_of(row.job).count:,}"]
    if not line.figures:
        return [*name, line.remark, "", "", "", ""]
    runs = shown(row, *line.figures) + (f"; {line.remark}" if line.remark else "")
    ratio = f"{line.ratio:.2f}x" if line.ratios else ""
    judged = line.median if first else line.ratio if line.ratios else None
    bounds = [_bound(row, bound, judged, first=first) for bound in (line.contender.goal, line.contender.aim)]
    return [*name, runs, shown(row, line.median), ratio, *bounds]


def _bound(row: Row, bound: float | None, judged: float | None, *, first: bool) -> str:
    """What is wanted, and whether it is so."""
    if bound is None:
        return ""
    text = ("≥ " if row.rate else "≤ ") + (shown(row, bound) if first else f"{bound:g}x")
    if judged is None:
        return text
    return f"{text} {'yes' if (judged >= bound if row.rate else judged <= bound) else 'NO'}"


def conditions() -> dict[str, str]:
    """Where and with what it was measured."""
    return {
        "date": time.strftime("%Y-%m-%d %H:%M %Z"),
        "machine": f"{os.cpu_count()} cores, {_cpu()}, {platform.system()} {platform.release()}",
        "load before": f"{os.getloadavg()[0]:.1f}",
        "Python": platform.python_version(),
        "packages": ", ".join(f"{name} {_version(name)}" for name in PACKAGES) + _librdkafka(),
        "broker": f"Apache Kafka {BROKER}, {PARTITIONS} partitions, replication 1; {_java()}",
    }


def settings() -> dict[str, str]:
    """What the clients are told. Every record is sent with acks=1 unless the row says otherwise."""
    told = {f"produce: {name}": json.dumps(options) for name, options in PRODUCERS.items()}
    told |= {f"consume: {name}": json.dumps(options) for name, options in CONSUMERS.items()}
    calls = f"up to {POLL_RECORDS:,} records a consume(), poll() and getmany(); "
    calls += f"{ROWS_PER_CALL:,} a send_many(), send_arrow() and produce_batch()"
    return {**told, "Spark, local[2]": json.dumps(SPARK), "calls": calls}


def print_table(results: Results) -> None:
    if find_spec("rich") is None:
        for row in [HEADERS, *cells(results)]:
            print(" | ".join(row))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*HEADERS)
    for row in cells(results):
        table.add_row(*row)
    Console(width=None if sys.stdout.isatty() else LOG_WIDTH).print(table)


def write(results: Results, measured: dict[str, str], path: Path = README) -> None:
    """Put a run in the place of the last one in README.md."""
    facts = [f"- {name}: {value}" for name, value in measured.items()]
    told = [f"| {name} | `{value}` |" for name, value in settings().items()]
    table = ["| " + " | ".join(row) + " |" for row in cells(results)]
    parts = [
        *facts,
        "",
        "| " + " | ".join(HEADERS) + " |",
        "|---" * len(HEADERS) + "|",
        *table,
        "",
        "Settings:",
        "",
        "| client | settings |",
        "|---|---|",
        *told,
        "",
    ]
    before, _, rest = path.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    path.write_text(before + BEGIN + "\n".join(parts) + END + after)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"


def _librdkafka() -> str:
    if find_spec("confluent_kafka") is None:
        return ""
    from confluent_kafka import libversion

    return f", librdkafka {libversion()[0]}"


def _cpu() -> str:
    information = Path("/proc/cpuinfo")
    text = information.read_text() if information.exists() else ""
    found = re.search(r"model name\s*: (.*)", text)
    return found[1] if found else platform.processor() or platform.machine()


def _java() -> str:
    """The first line of `java -version`, which it writes to its standard error."""
    return subprocess.run(["java", "-version"], capture_output=True, text=True, check=True).stderr.splitlines()[0]
