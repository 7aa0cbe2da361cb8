"""The guide docs/testing.md: its Python runs in a pytest of its own, its commands print what it shows."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mockbroker.control.table import RESOURCES

pytest_plugins = ["pytester"]

GUIDE = (Path(__file__).parents[2] / "docs/testing.md").read_text(encoding="utf-8")
CHANGING = re.compile(r'"time(?:stamp)?": [\d.]+')
TIMEOUT = 30.0


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


def test_the_examples_in_python(pytester):
    examples = blocks("python")
    for number, example in enumerate(examples):
        pytester.path.joinpath(f"test_{number}.py").write_text(example)
    result = pytester.runpytest_subprocess("--strict-markers", "-W", "error", "-p", "no:cacheprovider")
    result.assert_outcomes(passed=sum(example.count("def test_") for example in examples))


@pytest.mark.skipif(shutil.which("curl") is None, reason="the examples use curl, which is not installed")
def test_the_examples_with_curl(tmp_path):
    start, *sessions = blocks("console")
    ports = free_ports()
    start, *sessions = (moved(text, ports) for text in (start, *sessions))
    command, *printed = start.splitlines()
    arguments = command.removeprefix("$ python ").split()
    with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert [process.stdout.readline().rstrip() for _ in printed] == printed
            shown = "".join(sessions)
            commands = [line.removeprefix("$ ") for line in shown.splitlines() if line.startswith("$ ")]
            script = "\n".join(f"cat <<'END'\n$ {command}\nEND\n{command}" for command in commands)
            done = subprocess.run(
                ["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT, check=True
            )
            assert CHANGING.sub("TIME", done.stdout) == CHANGING.sub("TIME", shown)
        finally:
            process.terminate()


@pytest.mark.parametrize("resource", RESOURCES, ids=lambda resource: f"{resource.method} {resource.path}")
def test_the_table_of_the_control_port_has_everything(resource):
    start, *verbs = re.split(r"\{(\w+\|[\w|]+)\}", resource.path)  # {this|that} is at the end, if it is there
    first, *others = verbs[0].split("|") if verbs else [""]
    (row,) = [line for line in GUIDE.splitlines() if f"`{resource.method} {start}{first}`" in line]
    assert all(f"`/{other}`" in row for other in others)


def free_ports():
    """Three ports in a row for the brokers and one for control, by those that the guide has."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = probe.getsockname()[1]
        try:
            for port in range(first, first + 4):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return {"19092": first, "19093": first + 1, "19094": first + 2, "18080": first + 3}


def moved(text, ports):
    return re.sub("|".join(ports), lambda found: str(ports[found.group()]), text)
