"""The demo's bar chart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from kafkawire.cli.demo.data import Carrier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["draw"]

BLUE, ORANGE = "#2f6f9f", "#d9822b"


def draw(carriers: Sequence[Carrier], airlines: Mapping[str, str], path: Path) -> None:
    """Save a PNG with flights and mean departure delay side by side, a row for each carrier, in the order given."""
    # A figure of its own needs no pyplot, so no display: it is drawn by Agg, matplotlib's renderer for PNG.
    figure = Figure(figsize=(11, 1.6 + 0.33 * len(carriers)), layout="constrained")
    figure.suptitle("Flights from New York City in 2013, by carrier", fontsize=15, fontweight="bold")
    left, right = figure.subplots(1, 2, sharey=True)
    names = [f"{airlines.get(each.carrier, '')} ({each.carrier})" for each in carriers]
    _bars(left, names, [each.flights for each in carriers], BLUE, "{:,.0f}")
    left.set_xlabel("flights")
    left.xaxis.set_major_formatter("{x:,.0f}")
    _bars(right, names, [each.mean_delay or 0.0 for each in carriers], ORANGE, "{:.1f}")
    right.set_xlabel("mean departure delay, minutes")
    left.invert_yaxis()
    figure.savefig(path, format="png", dpi=150)


def _bars(axes: Axes, names: Sequence[str], values: Sequence[float], color: str, label: str) -> None:
    bars = axes.barh(names, values, color=color, height=0.72)
    axes.bar_label(bars, fmt=label, padding=4, fontsize=9)
    axes.margins(x=0.12, y=0.015)  # room for the labels
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color="#dddddd")
    axes.set_axisbelow(True)
