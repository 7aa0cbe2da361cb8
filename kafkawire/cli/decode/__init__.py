"""`kafkawire decode`: captured frames, record batches, capture files and segment files as JSON, one line a message."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Final

import click

from kafkawire import protocol
from kafkawire.cli.decode.connections import connection_lines
from kafkawire.cli.decode.frames import request_line, response_line, split
from kafkawire.cli.decode.pcap import is_capture, segments
from kafkawire.cli.decode.records import record_lines
from kafkawire.cli.decode.textual import from_text, is_text
from kafkawire.cli.decode.transactions import aborted_lines
from kafkawire.cli.decode.values import Line
from kafkawire.protocol.frames import MAX_FRAME_SIZE
from kafkawire.protocol.records.layout import UP_TO_MAGIC

__all__ = ["command"]

KINDS: Final = ("request", "response", "records", "txnindex", "pcap")
FILES: Final = {".log": "records", ".txnindex": "txnindex"}
"""Suffix of a partition's file -> its content."""
LONGEST_PATH: Final = 4096
"""Characters of the longest path on any system."""
SHORTEST_BATCH: Final = 14
"""Length field of the shortest message of any format."""
HIGHEST_OFFSET: Final = 1 << 48
"""Highest first offset of bytes that are taken for a batch."""
ENOUGH: Final = 64
"""Number of first bytes by which text is recognised."""
DIRECTORY: Final = re.compile(r"(?P<topic>.+)-\d+")
"""A partition's directory on a broker's disk."""


@click.command("decode")
@click.argument("source", default="-", metavar="[INPUT]")
@click.option("--as", "kind", type=click.Choice(KINDS), help="What the input is; by default its first bytes tell.")
@click.option("--api", metavar="NAME|KEY", help="The API that a response belongs to, such as Metadata or 3.")
@click.option("--version", type=click.IntRange(min=0), help="The version of the request that a response answers.")
@click.option("--topic", help="The topic of the records; by default that of a segment file's directory.")
def command(source: str, kind: str | None, api: str | None, version: int | None, topic: str | None) -> None:
    """Print Kafka's bytes as JSON, one line a message.

    INPUT is hex or base64, a file, or - for standard input: request frames, response frames (with --api and --version), record
    batches or a broker's segment file, its index of aborted transactions (.txnindex), a pcap or pcapng capture. Files and
    standard input hold bytes, or hex, base64 or output of xxd or hexdump -C. Frames may have their sizes before them or not.
    Records of __consumer_offsets and __transaction_state are decoded, control records are named.

    Keys and values that are UTF-8 without control characters are strings, others are {"base64": ...}; bytes fields of messages
    are base64. Secrets are ***. Damage is reported on standard error with its byte, and the exit code is 1.
    """
    if (api is None) != (version is None) or (kind == "response" and api is None):
        raise click.UsageError("A response needs both --api and --version.")
    with ExitStack() as stack:
        stream, path = _open(source, stack)
        kind = kind or ("response" if api is not None else _kind(stream.peek(UP_TO_MAGIC.size), path))
        _print(_lines(stream, kind, _api(api), version, topic if topic is not None else _topic(path)))


def _open(source: str, stack: ExitStack) -> tuple[BufferedReader, Path | None]:
    """The input, and its path if it is a file."""
    if source == "-":
        return _without_text(BufferedReader(sys.stdin.buffer)), None  # type: ignore[arg-type]  # it has what a raw stream needs
    path = Path(source)
    if len(source) < LONGEST_PATH and path.is_file():
        return _without_text(stack.enter_context(path.open("rb"))), path
    return _from_text(source), None


def _without_text(stream: BufferedReader) -> BufferedReader:
    """The stream, decoded if it holds text."""
    return _from_text(stream.read().decode("ascii", "replace")) if is_text(stream.peek(ENOUGH)) else stream


def _from_text(text: str) -> BufferedReader:
    try:
        return BufferedReader(BytesIO(from_text(text)))
    except ValueError as error:
        shown = text if len(text) <= 40 else text[:40] + "..."
        raise click.BadParameter(f"{shown!r} is no file, and as text {error}.", param_hint="INPUT") from None


def _kind(start: bytes, path: Path | None) -> str:
    """Kind of the input, by its first bytes."""
    if is_capture(start):
        return "pcap"
    if path is not None and path.suffix in FILES:
        return FILES[path.suffix]
    if len(start) >= UP_TO_MAGIC.size:
        offset, length, _, magic = UP_TO_MAGIC.unpack_from(start)
        # In a request these bytes are API key, version and correlation id, then the length and the start of the client id.
        if 0 <= offset < HIGHEST_OFFSET and magic in (0, 1, 2) and SHORTEST_BATCH <= length <= MAX_FRAME_SIZE:
            return "records"
    return "request"


def _api(text: str | None) -> int:
    """The key of an API that is given by name or key; -1 for none."""
    if text is None:
        return -1
    try:
        return int(text) if text.isdecimal() else protocol.response(text).key
    except KeyError:
        raise click.BadParameter(
            f"there is no API {text!r}; it is a name such as Metadata, or a key.", param_hint="--api"
        ) from None


def _topic(path: Path | None) -> str:
    """The topic of a segment file, by the directory that a broker has put it into."""
    found = DIRECTORY.fullmatch(path.resolve().parent.name) if path is not None else None
    return found["topic"] if found else ""


def _lines(stream: BufferedReader, kind: str, api: int, version: int | None, topic: str) -> Iterator[Line]:
    if kind == "pcap":
        yield from connection_lines(segments(stream))
    elif kind == "records":
        yield from record_lines(stream, topic)
    elif kind == "txnindex":
        yield from aborted_lines(stream)
    else:
        for frame in split(stream.read(MAX_FRAME_SIZE + 4)):
            yield request_line(frame) if version is None else response_line(api, version, frame)


def _print(lines: Iterator[Line]) -> None:
    """Print the lines, and their errors to standard error."""
    failed = False
    for line in lines:
        click.echo(json.dumps(line, ensure_ascii=False))
        if "error" in line:
            failed = True
            click.echo(f"Error: {line['error']}", err=True)
    if failed:
        raise SystemExit(1)
