"""The command line as a whole: help, errors, missing packages."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest
from click.testing import CliRunner

from kafkawire import cli
from kafkawire.cli.app import app


def kafkawire(*arguments):
    """Run the command line in a process of its own."""
    command = [sys.executable, "-m", "kafkawire", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


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
    assert done.stdout.endswith("\n['kafkawire.cli.app', 'kafkawire.cli.commands']\n")


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
@pytest.mark.parametrize("command", ["topics", "--help", None])
def test_a_missing_package_is_one_line_that_says_what_to_install(packages, command, monkeypatch, capsys):
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setattr(sys, "argv", ["kafkawire", *([] if command is None else [command])])
    assert cli.main() == 2
    shown = capsys.readouterr().err
    assert shown.startswith(f"The command line needs {' and '.join(packages)}: pip install 'kafkawire[cli]'")
    assert shown.count("\n") == 1


@pytest.mark.parametrize(("command", "shown"), [("doctor", "pip install 'kafkawire[cli]'"), ("mock", "--brokers")])
def test_some_commands_need_no_package(command, shown):
    """In a process of its own, in which click and rich are not installed, and their metadata neither."""
    program = """
import importlib.metadata, runpy, sys
sys.modules["click"] = sys.modules["rich"] = None
version = importlib.metadata.version
def without(name):
    if name in ("click", "rich"):
        raise importlib.metadata.PackageNotFoundError(name)
    return version(name)
importlib.metadata.version = without
runpy.run_module("kafkawire", run_name="__main__")
"""
    arguments = [command, "--help"] if command == "mock" else [command]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert shown in done.stdout


def test_no_broker_is_told_in_one_line_with_its_cause():
    """Not even the log says it a second time."""
    with socket.socket() as taken:  # bound and not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        done = kafkawire("topics", "-b", f"127.0.0.1:{taken.getsockname()[1]}", "--timeout", "0.5")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: no broker answered")
    assert "Connection refused" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--bootstrap", "nowhere"], 1, "Error: bootstrap_servers: 'nowhere' is not host:port"),
        (["-X", "ssl.cafil=ca.pem"], 1, "did you mean 'ssl.cafile'"),
        (["-X", "s3cret"], 2, "-X is not NAME=VALUE"),
        (["--config", "no such file"], 2, "'no such file' does not exist"),
    ],
)
def test_mistakes_in_the_options_are_told_without_a_traceback(arguments, code, message):
    done = kafkawire("topics", *arguments)
    assert done.returncode == code
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert "s3cret" not in done.stderr
