"""Results as tables for the terminal and for README.md."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec

from bench.harness import REPOSITORY, Line, Row
from bench.settings import CONSUMERS, POLL_RECORDS, PRODUCERS, ROWS_PER_CALL, SPARK

__all__ = ["Results", "print_table", "shown", "write"]

README = REPOSITORY / "bench" / "README.md"
BEGIN, END = "<!-- the last run -->\n", "<!-- end of the last run -->\n"
HEADERS = ["number", "client", "times", "runs", "median", "ratio", "goal", "aim"]
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
    return [[row.title if line is lines[0] else "", *_line(row, line, lines[0])] for row, lines in results for line in lines]


def _line(row: Row, line: Line, first: Line) -> list[str]:
    name = [line.contender.name, f"{line.contender.part_of(row.job).count:,}"]
    if not line.figures:
        return [*name, line.remark, "", "", "", ""]
    runs = shown(row, *line.figures) + (f"; {line.remark}" if line.remark else "")
    if line is first:
        reached: float | None = line.median
        text: Callable[[float], str] = partial(shown, row)
    else:
        reached = line.ratio_of(first)
        text = _times
    ratio = "" if line is first or reached is None else text(reached)
    wanted = (_wanted(reached, bound, text, more=row.rate) for bound in (line.contender.goal, line.contender.aim))
    return [*name, runs, shown(row, line.median), ratio, *wanted]


def _times(ratio: float) -> str:
    return f"{ratio:.2f}x"


def _wanted(reached: float | None, bound: float | None, text: Callable[[float], str], *, more: bool) -> str:
    """The wanted ratio, and whether it was reached, as text."""
    if bound is None:
        return ""
    if reached is None:
        verdict = ""
    else:
        verdict = " yes" if (reached >= bound if more else reached <= bound) else " NO"
    return f"{'≥' if more else '≤'} {text(bound)}{verdict}"


def settings() -> dict[str, str]:
    """Settings of the clients, as text. Every record is sent with acks=1 unless the row says otherwise."""
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


def write(results: Results, measured: dict[str, str]) -> None:
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
        "Settings, with acks=1 and without idempotence unless the number says otherwise; the rest is each client's default:",
        "",
        "| client | settings |",
        "|---|---|",
        *told,
        "",
    ]
    before, _, rest = README.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    README.write_text(before + BEGIN + "\n".join(parts) + END + after)
