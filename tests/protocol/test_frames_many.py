"""One connection that carries every request and every response there is: byte by byte, and all at once."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from kafkawire import protocol
from kafkawire.protocol.frames import ClientPeer, ServerPeer, decode_response, request_frame
from kafkawire.protocol.schema import Request, Response
from tests.protocol.message_samples import full_message
from tests.protocol.strategies import CLASS_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterator

REQUESTS = [(cls, version) for cls, version in CLASS_VERSIONS if issubclass(cls, Request)]
RESPONSES = [(cls, version) for cls, version in CLASS_VERSIONS if issubclass(cls, Response)]


def pieces(stream: bytes, size: int) -> Iterator[bytes]:
    return (stream[at : at + size] for at in range(0, len(stream), size))


@pytest.mark.parametrize("size", [1, 1 << 30], ids=["byte by byte", "at once"])
def test_every_request_and_response_on_one_connection(size: int) -> None:
    client, server = ClientPeer(), ServerPeer()
    sent = b"".join(
        part
        for at, (cls, version) in enumerate(REQUESTS)
        for part in client.request(request_frame(full_message(cls, version), version, "mé"), at)
    )
    received = [(header, bytes(body)) for piece in pieces(sent, size) for header, body in server.received(piece)]
    assert [(header.api_key, header.api_version, header.correlation_id, header.client_id) for header, _ in received] == [
        (cls.key, version, at, "mé") for at, (cls, version) in enumerate(REQUESTS)
    ]
    for (header, body), (request, version) in zip(received, REQUESTS, strict=True):
        assert protocol.request(header.api_key) is request
        assert protocol.decode(request, version, body) == full_message(request, version)

    answered = b"".join(
        part
        for (header, _), (response, version) in zip(received, RESPONSES, strict=True)
        for part in server.response_frame(header, full_message(response, version), version)
    )
    found = [frame for piece in pieces(answered, size) for frame in into(client, piece)]
    assert [at for at, _ in found] == list(range(len(RESPONSES)))
    assert client.outstanding() == []
    for (_, frame), (response, version) in zip(found, RESPONSES, strict=True):
        assert decode_response(response, version, frame) == full_message(response, version)


def into(client: ClientPeer, data: bytes) -> Iterator[tuple[int, bytes]]:
    """Hand data to a client as a driver does."""
    while data:
        room = client.get_buffer()
        taken = data[: len(room)]
        room[: len(taken)] = taken
        yield from ((at, bytes(frame)) for at, frame in client.received(len(taken)))
        data = data[len(taken) :]


def test_thousands_of_frames_in_one_read() -> None:
    client = ClientPeer()
    frame = request_frame(protocol.request("ApiVersions")(), 0, "")
    for at in range(20_000):
        client.request(frame, at)
    answers = b"".join(struct.pack(">ii", 4, at) for at in reversed(range(20_000)))
    assert [at for at, _ in into(client, answers)] == list(reversed(range(20_000)))
    assert client.outstanding() == []
