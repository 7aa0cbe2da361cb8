"""The guides are true: their examples run, and the traps that comments mention by number are explained and tested."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDERS = ("bench", "kafkawire", "mockbroker", "pyspark_kafkawire", "tests")
OF_THE_WIRE_FORMAT = 60
"""The last trap about frames, primitive types, records and codecs."""

ENTRY = re.compile(r"^- \*\*(\d+)\.\*\* ", re.MULTILINE)
MENTION = re.compile(r"\btraps? (\d+(?:(?:, | and | to )\d+)*)", re.IGNORECASE)
TEST_NAME = re.compile(r"def test_trap_((?:\d+_)+)")


def numbers(found: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", found)]


def sources() -> dict[Path, str]:
    return {path: path.read_text() for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}


def explained() -> list[int]:
    return [int(number) for number in ENTRY.findall((ROOT / "docs/protocol-traps.md").read_text())]


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
