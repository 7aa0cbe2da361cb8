"""The command line as a whole: help, errors, missing packages."""

from __future__ import annotations

import subprocess
import sys

import pytest
from click.testing import CliRunner

from kafkawire import cli
from kafkawire.cli.app import app


def kafkawire(*arguments):
    """Run the command line in a process of its own."""
    program = "import sys; from kafkawire.cli import main; sys.exit(main())"
    return subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_help_lists_every_command_without_loading_one():
    program = """
import sys
from kafkawire.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
print(sorted(name for name in sys.modules if name.startswith(("kafkawire.cli.", "mockbroker", "rich", "matplotlib"))))
"""
    done = subprocess.run([sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=True, timeout=60)
    for command in ("decode", "demo", "doctor", "mock", "topics"):
        assert f"\n  {command} " in done.stdout
    assert done.stdout.endswith("\n['kafkawire.cli.app']\n")


@pytest.mark.parametrize("command", ["decode", "demo", "doctor", "mock", "topics"])
def test_every_command_has_help(command):
    done = CliRunner().invoke(app, [command, "--help"])
    assert done.exit_code == 0, done.output
    assert "usage" in done.output.lower()


def test_an_unknown_command_is_an_error():
    done = kafkawire("sell")
    assert done.returncode == 2
    assert "No such command 'sell'" in done.stderr


@pytest.mark.parametrize("packages", [("click",), ("rich",), ("click", "rich")])
def test_a_missing_package_is_one_line_that_says_what_to_install(packages, monkeypatch, capsys):
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)
    assert cli.main() == 2
    shown = capsys.readouterr().err
    assert shown == f"The command line needs {' and '.join(packages)}: pip install 'kafkawire[cli]'\n"


def test_what_is_wrong_with_a_cluster_is_told_without_a_traceback():
    done = kafkawire("topics", "--bootstrap", "nowhere")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: bootstrap_servers: 'nowhere' is not host:port")
    assert "Traceback" not in done.stderr
