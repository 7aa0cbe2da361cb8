"""Report of the demo on the terminal: the progress of each step, and the tables at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Column, Table

from kafkawire.cli.demo.data import Carrier

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Report", "Step"]


@dataclass(slots=True)
class Step:
    """One step: its count of messages and its seconds."""

    title: str
    advance: Callable[[int], None]
    """Moves the progress bar by so many messages."""
    messages: int = 0
    seconds: float = 0.0

    @property
    def rate(self) -> float:
        """Messages a second."""
        return self.messages / self.seconds


class Report:
    """Shows each step, with a bar on a terminal while it runs and with a line when it is done, and remembers it."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.steps: list[Step] = []

    @contextmanager
    def step(self, title: str, total: int | None = None) -> Iterator[Step]:
        """Time a step, of `total` messages if that is known; the block stores its count in the step's `messages`."""
        counted = [] if total is None else [MofNCompleteColumn()]
        columns = SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), *counted, TimeElapsedColumn()
        with Progress(*columns, console=self.console, transient=True, disable=not self.console.is_terminal) as progress:
            bar = progress.add_task(title, total=total)
            step = Step(title, lambda count: progress.advance(bar, count))
            started = time.perf_counter()
            yield step
            step.seconds = time.perf_counter() - started
        self.steps.append(step)
        done = f": {step.messages:,} messages" if step.messages else ""
        self.line(f"{title}{done} in {step.seconds:.1f} s")

    def line(self, text: str) -> None:
        """Print a line without wrapping or markup."""
        self.console.print(text, soft_wrap=True, markup=False, highlight=False)

    def print_steps(self) -> None:
        table = Table("Step", _right("Messages"), _right("Seconds"), _right("Messages/s"), title="What each step took")
        for step in self.steps:
            counted = (f"{step.messages:,}", f"{step.rate:,.0f}") if step.messages else ("", "")
            table.add_row(step.title, counted[0], f"{step.seconds:.2f}", counted[1])
        self.console.print(table)

    def print_carriers(self, carriers: Sequence[Carrier], airlines: Mapping[str, str]) -> None:
        table = Table(
            "Carrier", "Airline", _right("Flights"), _right("Mean departure delay"), title="Flights from New York City in 2013"
        )
        for code, flights, delay in carriers:
            table.add_row(code, airlines.get(code, ""), f"{flights:,}", "" if delay is None else f"{delay:.1f} min")
        self.console.print(table)


def _right(header: str) -> Column:
    return Column(header, justify="right")
