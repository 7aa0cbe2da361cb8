"""Helpers of the tests of `kafkawire decode`: running it, and data to decode."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner

from kafkawire.cli.app import app
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.frames import ClientPeer, ServerPeer, request_frame
from kafkawire.protocol.header import RequestHeader
from kafkawire.protocol.records import encode_record, seal_batch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["batch", "lines", "request", "response", "run"]


def run(*arguments: str | Path, stdin: bytes = b"") -> tuple[list[dict[str, Any]], str, int]:
    """The lines, what is on standard error, the exit code."""
    done = CliRunner().invoke(app, ["decode", *map(str, arguments)], input=stdin)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr, done.exit_code


def lines(*arguments: str | Path, stdin: bytes = b"") -> list[dict[str, Any]]:
    """The lines of an input without fault."""
    found, errors, code = run(*arguments, stdin=stdin)
    assert (errors, code) == ("", 0)
    return found


def request(message: Any, version: int, correlation_id: int = 0) -> bytes:
    """A frame with its size."""
    peer = ClientPeer()
    for _ in range(correlation_id):
        peer.request(request_frame(message, version, "me"), None)
    return b"".join(peer.request(request_frame(message, version, "me"), object()))


def response(message: Any, version: int, correlation_id: int = 0) -> bytes:
    """A frame with its size."""
    header = RequestHeader(type(message).key, version, correlation_id, None)
    return b"".join(ServerPeer().response_frame(header, message, version))


def batch(records: Sequence[tuple], *, base_offset: int = 0, codec: Codec = Codec.NONE, control: bool = False) -> bytes:
    """A record batch of (key, value) or (key, value, headers), all of the time 1000."""
    parts = [encode_record(at, 0, *record) for at, record in enumerate(records)]
    sealed = seal_batch(parts, count=len(parts), base_timestamp=1000, max_timestamp=1000, codec=codec, control=control)
    return base_offset.to_bytes(8) + bytes(sealed[8:])
