"""`kafkawire demo` on a part of its data."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest
from click.testing import CliRunner

from kafkawire import Connection
from kafkawire.cli.app import app
from kafkawire.cli.demo.data import COLUMNS, Carrier, flights
from kafkawire.cli.demo.outcome import Outcome

SUMMARIES = [Carrier("AA", 3, 1.5), Carrier("UA", 2, None)]
WHOLE = Outcome(loaded=5, produced=5, carriers=SUMMARIES, written=2, consumed=SUMMARIES[::-1])


def demo(chart, *arguments):
    done = CliRunner().invoke(app, ["demo", "--chart", str(chart), *arguments])
    assert done.exit_code == 0, done.output
    assert chart.read_bytes().startswith(b"\x89PNG")
    return done.output.splitlines()


def test_without_java_all_is_done_in_python(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    lines = demo(tmp_path / "chart.png", "--rows", "2500")
    assert re.fullmatch(r"demo: produced=2500 read=2500 carriers=(\d+) written=\1 consumed=\1", lines[-1])
    assert "without Spark" in lines[-2]
    assert "Java 17+" in lines[-2]


def test_a_cluster_that_is_given_is_used_and_keeps_the_topics(tmp_path, monkeypatch, mock_kafka):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    lines = demo(tmp_path / "chart.png", "--rows", "100", "--bootstrap", mock_kafka.bootstrap)
    assert lines[-1].startswith("demo: produced=100 read=100 ")
    with Connection(mock_kafka.bootstrap) as connection:
        summaries, topic = connection.topics()
    assert re.fullmatch(r"carriers-\d{8}-\d{6}", summaries)
    assert re.fullmatch(r"flights-\d{8}-\d{6}", topic)
    records = mock_kafka.messages(topic)
    assert len({record.partition for record in records}) > 1
    assert all(json.loads(record.value)["carrier"] == record.key.decode() for record in records)
    assert len(records) == 100


@pytest.mark.heavy
@pytest.mark.spark
def test_with_spark(tmp_path):
    lines = demo(tmp_path / "chart.png", "--rows", "1000")
    assert re.fullmatch(r"demo: produced=1000 read=1000 carriers=(\d+) written=\1 consumed=\1", lines[-1])
    assert lines[-2] == "Read and written with Spark."


def test_flights_are_json_with_null_for_what_is_missing():
    records = list(flights(1000))
    found = [json.loads(value, parse_constant=pytest.fail) for _, value in records]
    assert all(list(flight) == list(COLUMNS) for flight in found)
    assert all(flight["carrier"].encode() == key for (key, _), flight in zip(records, found, strict=True))
    cancelled = [flight for flight in found if flight["dep_time"] is None]
    assert cancelled
    assert all(flight["dep_delay"] is None for flight in cancelled)


def test_an_outcome_that_agrees():
    assert WHOLE.differences() == []
    assert WHOLE.counts() == "demo: produced=5 read=5 carriers=2 written=2 consumed=2"


@pytest.mark.parametrize(
    ("outcome", "difference"),
    [
        (replace(WHOLE, loaded=6), "5 flights produced, 6 loaded"),
        (replace(WHOLE, produced=6, loaded=6), "5 flights read, 6 produced"),
        (replace(WHOLE, written=3, consumed=[*SUMMARIES, SUMMARIES[0]]), "3 summaries written, 2 worked out"),
        (replace(WHOLE, consumed=SUMMARIES[:1]), "1 summaries consumed, 2 written"),
        (replace(WHOLE, consumed=[SUMMARIES[0]] * 2), "the summaries consumed are not those that were written"),
    ],
)
def test_an_outcome_says_what_differs(outcome, difference):
    assert outcome.differences() == [difference]
