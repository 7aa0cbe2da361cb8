"""Streams of frames, as either end of a connection gets them, and SASL tokens of the time before they were messages."""

from __future__ import annotations

from typing import Any

from kafkawire import protocol
from kafkawire.errors import DecodeError, NotKafkaError
from kafkawire.protocol.frames import (
    ClientPeer,
    RequestHeader,
    ServerPeer,
    decode_request,
    decode_response,
    encode_frame,
    request_frame,
)
from kafkawire.protocol.sasl_frames import SaslTokens, token_frame
from tests.fuzz.runner import Target
from tests.protocol.message_samples import full_message

__all__ = ["TARGETS"]

LIMIT = 1 << 17
"""Bytes of a frame; more than a peer's buffer, so that frames with a buffer of their own are among them."""

CONVERSATION: list[tuple[str, int]] = [
    ("ApiVersions", 3),
    ("ApiVersions", 0),
    ("Metadata", 1),
    ("Metadata", 12),
    ("Fetch", 11),
    ("Produce", 9),
    ("OffsetFetch", 8),
]
"""The requests in flight, by correlation id."""


def client_seeds() -> list[bytes]:
    server = ServerPeer()
    answers = [
        b"".join(
            server.response_frame(RequestHeader(0, version, at, None), full_message(protocol.response(api), version), version)
        )
        for at, (api, version) in enumerate(CONVERSATION)
    ]
    return [b"".join(answers), b"".join(reversed(answers)), *answers]


def check_client(data: bytes) -> bool:
    """Any stream of responses, however it is cut, gives the same frames or ends in one of two errors.

    Every frame decodes to a message or is a DecodeError.
    """
    whole, broken = read_responses(data, len(data))
    slowly, also_broken = read_responses(data, 1)
    assert broken == also_broken
    assert broken or slowly == whole
    for at, frame in whole:
        api, version = CONVERSATION[at]
        try:
            decode_response(protocol.response(api), version, frame)
        except DecodeError:
            broken = True
    return bool(whole) and not broken


def read_responses(data: bytes, chunk: int) -> tuple[list[tuple[int, bytes]], bool]:
    """The frames up to the first error, and whether there was one."""
    peer = ClientPeer(LIMIT)
    for at, (api, version) in enumerate(CONVERSATION):
        peer.request(request_frame(protocol.request(api)(), version, "me"), at)
    found: list[tuple[int, bytes]] = []
    try:
        while data:
            room = peer.get_buffer()
            assert 0 < len(room) <= LIMIT
            taken = data[: min(chunk, len(room))]
            room[: len(taken)] = taken
            found += [(at, bytes(frame)) for at, frame in peer.received(len(taken))]
            data = data[len(taken) :]
    except (DecodeError, NotKafkaError):
        return found, True
    return found, False


def server_seeds() -> list[bytes]:
    client = ClientPeer()
    requests = [
        b"".join(client.request(request_frame(full_message(protocol.request(api), version), version, "mé"), None))
        for api, version in CONVERSATION
    ]
    return [b"".join(requests), *requests]


def check_server(data: bytes) -> bool:
    """Any stream of requests, however it is cut, gives the same headers and bodies or ends in one of two errors.

    A body of a known API decodes to a message, which sent again arrives the same, or it is a DecodeError.
    """
    whole, broken = read_requests(data, len(data))
    slowly, also_broken = read_requests(data, 1)
    assert broken == also_broken
    assert broken or slowly == whole
    arrived = [arrives_again(header, body) for header, body in whole]
    return bool(arrived) and all(arrived) and not broken


def read_requests(data: bytes, chunk: int) -> tuple[list[tuple[RequestHeader, bytes]], bool]:
    """The requests up to the first error, and whether there was one."""
    peer = ServerPeer(LIMIT)
    found: list[tuple[RequestHeader, bytes]] = []
    try:
        for at in range(0, len(data), max(chunk, 1)):
            found += [(header, bytes(body)) for header, body in peer.received(data[at : at + chunk])]
    except (DecodeError, NotKafkaError):
        return found, True
    return found, False


def arrives_again(header: RequestHeader, body: bytes) -> bool:
    try:
        cls: Any = protocol.request(header.api_key)
    except KeyError:
        return False
    if header.api_version not in cls.versions:
        return False
    try:
        message = protocol.decode(cls, header.api_version, body)
    except DecodeError:
        return False
    frame = encode_frame(message, header.api_version, header.correlation_id, header.client_id or "")
    [(again, body_again)] = ServerPeer().received(frame)
    assert again == header._replace(client_id=header.client_id or "")
    assert body_again == protocol.encode(message, header.api_version)
    assert decode_request(frame[4:])[0] == again
    return True


def token_seeds() -> list[bytes]:
    return [token_frame(b"\0user\0password"), token_frame(b""), token_frame(b"n,,n=user") + token_frame(bytes(300))]


def check_tokens(data: bytes) -> bool:
    """Any stream gives the same tokens however it is cut, or a DecodeError; tokens and rest are the stream again."""
    tokens, rest = read_tokens(data, len(data))
    assert (tokens, rest) == read_tokens(data, 1)
    assert rest is None or b"".join(map(token_frame, tokens)) + rest == data
    return bool(tokens) and rest is not None


def read_tokens(data: bytes, chunk: int) -> tuple[list[bytes], bytes | None]:
    """The tokens, and what follows them: None after an error."""
    stream = SaslTokens(LIMIT)
    found = []
    try:
        for at in range(0, len(data), max(chunk, 1)):
            stream.received(data[at : at + chunk])
            while (token := stream.next()) is not None:
                found.append(token)
    except DecodeError:
        return found, None
    return found, stream.rest()


TARGETS = (
    Target("frames-client", client_seeds, check_client),
    Target("frames-server", server_seeds, check_server),
    Target("sasl-tokens", token_seeds, check_tokens),
)
