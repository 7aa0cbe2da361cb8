"""The guides are true: their examples run, their paths exist, and traps that comments mention are explained and tested."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kafkawire
from kafkawire.producer import Delivery
from mockbroker import MockCluster

ROOT = Path(__file__).parents[1]
FOLDERS = ("bench", "kafkawire", "mockbroker", "pyspark_kafkawire", "tests")
OF_THE_WIRE_FORMAT = 60
"""The last trap about frames, primitive types, records and codecs."""

ENTRY = re.compile(r"^- \*\*(\d+)\.\*\* ", re.MULTILINE)
MENTION = re.compile(r"\btraps? (\d+(?:(?:, | and | to )\d+)*)", re.IGNORECASE)
TABLE_ROW = re.compile(r"^\|.*\| (.*) \|$", re.MULTILINE)
METHOD = re.compile(r"(?<=\.)([a-z_]+)(?=\()")
PATH = re.compile(r"`((?:kafkawire|mockbroker|tests|docs)/[\w/.]+)`")
LINK = re.compile(r"\]\(([\w/.-]+)(?:#[\w-]+)?\)")
TEST_NAME = re.compile(r"def test_trap_((?:\d+_)+)")


def numbers(found: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", found)]


def sources() -> dict[Path, str]:
    return {path: path.read_text() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}


def explained() -> list[int]:
    return [int(number) for number in ENTRY.findall((ROOT / "docs/protocol-traps.md").read_text())]


@pytest.mark.parametrize("guide", sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]), ids=lambda guide: guide.name)
def test_paths_that_guides_name_exist(guide):
    text = guide.read_text()
    named = {ROOT / path for path in PATH.findall(text)} | {guide.parent / path for path in LINK.findall(text)}
    assert not sorted(str(path.relative_to(ROOT)) for path in named if not path.exists())


def test_traps_are_numbered_once_and_in_order():
    assert explained() == sorted(set(explained()))
    assert explained()[:OF_THE_WIRE_FORMAT] == list(range(1, OF_THE_WIRE_FORMAT + 1))


def test_every_trap_that_is_mentioned_is_explained():
    known = set(explained())
    mentioned = {
        (number, str(path.relative_to(ROOT)))
        for path, text in sources().items()
        for found in [*MENTION.findall(text), *TEST_NAME.findall(text)]
        for number in numbers(found)
    }
    assert len(mentioned) > 100
    assert not sorted((number, path) for number, path in mentioned if number not in known)


def test_every_trap_of_the_wire_format_has_a_test_of_its_name():
    text = "".join(text for path, text in sources().items() if path.name.startswith("test_"))
    tested = {number for found in TEST_NAME.findall(text) for number in numbers(found)}
    assert not sorted(set(range(1, OF_THE_WIRE_FORMAT + 1)) - tested)


def test_the_examples_of_the_protocol_guide_run():
    done = doctest.testfile(str(ROOT / "docs/protocol.md"), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert done.attempted > 30
    assert done.failed == 0


def readme(*, spark: bool) -> list[str]:
    """The examples of the README in Python, with Spark or without."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    return [block for block in blocks if ("pyspark" in block) == spark]


def paste(example: str, kafka: MockCluster, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run an example by itself, on the mock cluster in place of localhost:9092."""
    (directory / "example.py").write_text(example.replace("localhost:9092", kafka.bootstrap))
    done = subprocess.run(
        [sys.executable, "-W", "default", "example.py"],
        cwd=directory,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    return done


def test_the_examples_of_the_readme_run_one_after_the_other(tmp_path):
    with MockCluster(topics={"flights": 6}) as kafka:
        done = [paste(example, kafka, tmp_path) for example in readme(spark=False)]
        assert [one.stderr for one in done] == [""] * 4
        produced, consumed, produced_in_asyncio, tested = [one.stdout for one in done]
        assert produced.startswith("RecordMetadata(topic='flights'")
        assert consumed.endswith("b'AA' b'value'\n")
        assert produced_in_asyncio.startswith("RecordMetadata(topic='flights'")
        assert tested == ""
        assert {(message.key, message.value) for message in kafka.messages("flights")} == {(b"AA", b"value"), (None, b"value")}


@pytest.mark.spark
def test_the_example_of_the_readme_runs_in_spark(tmp_path):
    with MockCluster(topics={"flights": 6, "counts": 1}) as kafka:
        for key in ("AA", "UA", "AA"):
            kafka.produce("flights", "value", key=key)
        (example,) = readme(spark=True)
        paste(example, kafka, tmp_path)
        assert {message.key: message.value for message in kafka.messages("counts")} == {b"AA": b"2", b"UA": b"1"}


def test_the_examples_for_users_of_other_clients_run():
    with MockCluster(brokers=1, topics={"flights": 1}) as kafka:
        done = doctest.testfile(
            str(ROOT / "docs/migrating.md"),
            module_relative=False,
            optionflags=doctest.ELLIPSIS,
            globs={"servers": kafka.bootstrap},
        )
    assert done.attempted > 30
    assert done.failed == 0


def test_the_examples_of_the_client_guide_run():
    with MockCluster(brokers=1, topics={"flights": 2}, config={"auto.create.topics.enable": "false"}) as kafka:
        done = doctest.testfile(
            str(ROOT / "docs/client.md"),
            module_relative=False,
            optionflags=doctest.ELLIPSIS,
            globs={"servers": kafka.bootstrap},
        )
    assert done.attempted > 50
    assert done.failed == 0


def test_the_methods_for_users_of_other_clients_are_there():
    """The right columns of the guide's tables name methods of kafkawire."""
    faces = (kafkawire.Connection, kafkawire.Consumer, kafkawire.Producer, Delivery, kafkawire.RecordMetadata)
    text = (ROOT / "docs/migrating.md").read_text()
    named = {name for row in TABLE_ROW.findall(text) for name in METHOD.findall(row)}
    assert len(named) > 15
    assert not {name for name in named if not any(hasattr(face, name) for face in faces)} - {"encode"}
