"""`kafkawire doctor`."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Iterator

import pytest
from click.testing import CliRunner

import kafkawire
from kafkawire.cli.app import app
from kafkawire.protocol import accelerators
from tests.protocol.optional import hide, with_and_without

__all__ = ["with_and_without"]


def doctor(*arguments):
    done = CliRunner().invoke(app, ["doctor", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_json_has_versions_features_and_libraries():
    # In a process of its own: here other tests have loaded what the command has to load itself.
    done = subprocess.run([sys.executable, "-m", "kafkawire", "doctor", "--json"], capture_output=True, check=True, timeout=60)
    found = json.loads(done.stdout)
    assert found["kafkawire"] == kafkawire.__version__
    assert found["python"].startswith(platform.python_version())
    assert {"crc32c", "snappy", "lz4", "zstd"} <= set(found["features"])
    assert set(found["libraries"]) == {"numpy", "pyarrow", "pyspark", "click", "rich"}


def test_the_table_names_what_serves_each_feature(with_and_without):
    shown = doctor()
    assert ("standard library" in shown) == (with_and_without == "pure")
    assert "crc32c" in shown


@pytest.fixture
def without_zstd(monkeypatch) -> Iterator[None]:
    hide(monkeypatch, "compression.zstd", "zstandard", "cramjam", "pyarrow")
    yield
    monkeypatch.undo()
    accelerators.reset()


@pytest.mark.usefixtures("without_zstd")
def test_what_is_missing_comes_with_what_to_install():
    assert json.loads(doctor("--json"))["features"]["zstd"] is None
    advice = {line.split()[0]: line.split(maxsplit=1)[1] for line in doctor().splitlines()}
    assert advice["zstd"] == "nothing: pip install 'kafkawire[fast]'"
    assert advice["Arrow"] == "nothing: pip install 'kafkawire[arrow]'"
