"""Every fuzz target for a while, with the same inputs every time; `python -m tests.fuzz` goes on for as long as wanted."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.fuzz import runner
from tests.fuzz.mutator import Mutator
from tests.fuzz.runner import Crash, Target, examine, fuzz
from tests.fuzz.targets import TARGETS

ROOT = Path(__file__).parents[2]

SEED = 1

INPUTS = {
    "frames-client": 5_000,
    "frames-server": 20_000,
    "sasl-tokens": 30_000,
    "messages": 300_000,
    "formats-members": 50_000,
    "formats-records": 150_000,
    "batches": 15_000,
    "message-sets": 15_000,
    "records": 40_000,
    "inner-message-sets": 60_000,
    "gzip": 150_000,
    "snappy": 60_000,
    "lz4": 40_000,
    "zstd": 30_000,
    "captures": 20_000,
}
"""About two minutes together on two cores; numbers, not seconds, so that every run tries the same."""
QUICK = 50
"""So many times fewer where it has to be quick."""

FOUND = [
    # A block that begins like a size with a block behind it: cramjam unpacked only what is behind.
    ("lz4", "0204224d186040820a0000009061000050626364656600000000"),
    # A repeat from distance 0: its specification forbids it, liblz4 unpacks it, we do not.
    ("lz4", "0204224d186040820a0000001061000050626364656600000000"),
    # A block that does not end in literals: its specification and liblz4 want five, we do not.
    (
        "lz4",
        "0204224d186040822b000000ff096b61666b611e77000000000000800068207267636f7264201800ffffff981f000100ffffffffff030200000000",
    ),
    # A frame that announces no bytes and holds one: zstandard does not look, the others refuse it.
    ("zstd", "0028b52ffd200009000078"),
]
"""Target and input, as hexadecimal digits: what broke something once, or is taken differently by two implementations."""


@pytest.mark.parametrize("name", TARGETS)
def test_a_few_inputs_break_nothing(name: str) -> None:
    fuzz(TARGETS[name], SEED, count=INPUTS[name] // QUICK)


@pytest.mark.heavy
@pytest.mark.parametrize("name", TARGETS)
def test_many_inputs_break_nothing(name: str) -> None:
    fuzz(TARGETS[name], SEED, count=INPUTS[name])


@pytest.mark.parametrize(("name", "data"), FOUND)
def test_what_was_found_once(name: str, data: str) -> None:
    examine(TARGETS[name], bytes.fromhex(data))


def target(check: Callable[[bytes], bool]) -> Target:
    return Target("mine", lambda: [b"seed"], lambda data: data == b"seed" or check(data))


def test_the_same_seed_gives_the_same_inputs() -> None:
    def inputs(seed: int) -> list[bytes]:
        tried: list[bytes] = []

        def check(data: bytes) -> bool:
            tried.append(data)
            return True

        assert fuzz(target(check), seed, count=500) == 500
        return tried

    assert inputs(7) == inputs(7) != inputs(8)
    assert len(set(inputs(7))) > 400


def test_a_crash_says_how_to_run_its_input_again() -> None:
    def check(data: bytes) -> bool:
        raise ValueError("told so")

    with pytest.raises(Crash, match=r"mine: ValueError: told so\nAgain: python -m tests.fuzz mine --input [0-9a-f]+") as caught:
        fuzz(target(check), SEED, count=10)
    assert caught.value.data != b"seed"


def test_no_input_may_take_long_or_much_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def loop(data: bytes) -> bool:
        while True:
            pass

    monkeypatch.setattr(runner, "MOST_SECONDS", 0.05)
    with pytest.raises(Crash, match=r"more than 0.05 s"):
        examine(target(loop), b"")
    with pytest.raises(Crash, match="bytes of memory"):
        examine(target(lambda data: bool(bytes(runner.MOST_MEMORY + 1))), b"")


def test_the_beginning_that_says_what_an_input_is_stays() -> None:
    mutator = Mutator([b"key 1", b"key 2"], random.Random(1), keep=3)
    made = [mutator.make() for _ in range(300)]
    assert {data[:3] for data in made} == {b"key"}
    assert len(set(made)) > 200


def test_one_input_from_the_command_line() -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tests.fuzz", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=ROOT)

    assert run("sasl-tokens", "--input", "0000000161").stdout == "sasl-tokens: valid\n"
    assert run("sasl-tokens", "--input", "ffffffff").stdout == "sasl-tokens: refused as it should be\n"
    assert "no such target: nonsense" in run("nonsense").stderr
