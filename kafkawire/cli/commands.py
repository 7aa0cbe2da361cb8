"""The table of all commands of the command line, and the call of those that need no other package."""

from __future__ import annotations

from importlib import import_module

__all__ = ["COMMANDS", "PLAIN", "run_plain"]

COMMANDS = {
    "decode": "Print captured frames, record batches, pcap and segment files as JSON.",
    "demo": "Show records going into Kafka, through Spark, and back.",
    "doctor": "Show installed packages, and the implementations of checksums and compression.",
    "mock": "Run a mock cluster until Ctrl-C; the same as python -m mockbroker.",
    "topics": "List the topics of a cluster.",
}
"""Name of a command and of its module -> its line in --help, which loads none of the modules."""

PLAIN = {"doctor": "kafkawire.cli.doctor", "mock": "mockbroker.cli"}
"""Command that needs no other package -> the module whose `main` takes its arguments."""


def run_plain(command: str, arguments: list[str]) -> int:
    """Run a command of PLAIN; its exit code."""
    code: int = import_module(PLAIN[command]).main(arguments)
    return code
