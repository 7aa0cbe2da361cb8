"""Kinds of faults: one class each is all that Python, JSON, the control port and the guide know of a kind."""

from __future__ import annotations

import inspect
import json
import re
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Unpack

import pytest

from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker import MockCluster
from mockbroker.arguments import Size
from mockbroker.control.http import ControlServer
from mockbroker.observe import fault_kinds
from mockbroker.observe.fault import FAULT_KINDS, Fault, Rule, parameters_of
from mockbroker.observe.fault_kinds import FaultMethods
from mockbroker.observe.selection import Api
from tests.mockbroker.raw import MemoryMock, TcpClient

GUIDE = (Path(__file__).parents[2] / "docs/testing.md").read_text(encoding="utf-8")
KINDS = {name: kind for name, kind in FAULT_KINDS.items() if kind.__module__ == fault_kinds.__name__}


class Repeat(Fault, name="repeat-toy"):
    """Send the response several times.

    copies: how many responses there are.
    """

    def __init__(self, api: Api, copies: Size = 2, **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.copies = copies

    def damage_frame(self, frame: bytes) -> bytes:
        return frame * self.copies


def output_of_a_request(mock):
    _, frame = mock.client(2).frame(MetadataRequest(topics=[]), 12)
    return mock.answer(frame, 2)[0]


@pytest.fixture
def mock():
    return MemoryMock(2)


def test_a_new_kind_works_in_python(mock):
    whole = output_of_a_request(mock)
    fault = mock.faults.add(Repeat("Metadata", copies=3, broker=2, times=1))
    assert [output_of_a_request(mock), output_of_a_request(mock)] == [whole * 3, whole]
    assert repr(fault) == "<Fault repeat-toy Metadata, copies=3, broker=2, times=1: fired 1>"
    with pytest.raises(ValueError, match="'copies' is 0; it has to be from 1"):
        mock.faults.add(Repeat("Metadata", copies=0))
    with pytest.raises(ValueError, match="has been added before"):
        mock.faults.add(fault)


def test_a_new_kind_works_in_json(mock):
    whole = output_of_a_request(mock)
    fault = mock.faults.make({"action": "repeat-toy", "api": "Metadata", "times": 1})
    assert (fault.to_dict()["copies"], fault.to_dict()["times"]) == (2, 1)
    assert output_of_a_request(mock) == whole * 2
    with pytest.raises(ValueError, match="'copies' is 'x'; it has to be a whole number"):
        mock.faults.make({"action": "repeat-toy", "copies": "x"})
    with pytest.raises(ValueError, match="'repeat-toy' takes no 'copy'; it takes api, copies, broker"):
        mock.faults.make({"action": "repeat-toy", "copy": 1})


def test_a_new_kind_works_at_the_control_port():
    with MockCluster(1) as kafka, ControlServer(kafka) as control, TcpClient(kafka.brokers[1]) as client:
        body = json.dumps({"action": "repeat-toy", "api": "Metadata", "copies": 1}).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{control.url}/faults", body)) as answer:
            assert json.load(answer)["copies"] == 1
        client.call(MetadataRequest(topics=[]), 12)
        kafka.check_faults()


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_each_kind_has_a_method_with_its_parameters_and_its_documentation(kind):
    for owner in (MockCluster(1), MockCluster(1).faults):
        method = getattr(owner, kind.name)
        assert list(inspect.signature(method).parameters.values()) == list(inspect.signature(kind).parameters.values())
        assert (method.__name__, method.__doc__) == (kind.name, kind.__doc__)


def test_each_method_adds_a_fault_of_its_kind():
    assert {name for name in vars(FaultMethods) if not name.startswith("_")} == set(KINDS)


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_each_parameter_of_a_kind_is_explained(kind):
    for name in parameters_of(kind):
        assert re.search(rf"\b{name}: ", inspect.getdoc(kind) or ""), name


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_the_table_of_the_guide_says_what_the_class_says(kind):
    options = [
        f"`{name}`" if parameter.default in (parameter.empty, "before", "after") else f"`{name}` ({parameter.default})"
        for name, parameter in parameters_of(kind).items()
    ]
    summary = (inspect.getdoc(kind) or "").split("\n\n")[0].replace("\n", " ")
    assert f"| `{kind.name}` | {', '.join(options)} | {summary} |" in GUIDE


def test_type_checkers_see_the_parameters_of_a_kind(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text("""
from mockbroker import Barrier, MockCluster

kafka = MockCluster()
kafka.delay("Fetch", seconds=1, topic="flights", times=2)
barrier: Barrier = kafka.hold(["Produce", "Fetch"], when="after")
kafka.corrupt()
kafka.delay("Fetch", second=1)
kafka.delay("Fetch", "1")
kafka.drop("Fetch", tpoic="flights")
""")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path), "--follow-imports=silent", str(program)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    errors = [line for line in done.stdout.splitlines() if " error: " in line]
    assert {re.findall(r":(\d+): ", line)[0] for line in errors} == {"8", "9", "10"}, done.stdout
