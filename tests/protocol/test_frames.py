"""Both ends of a connection: frames cut anywhere, correlation ids, interrupts, bytes that are not Kafka's."""

from __future__ import annotations

import dis
import struct
import sys
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire import protocol
from kafkawire.errors import DecodeError, EncodeError, NotKafkaError
from kafkawire.protocol.frames import (
    BUFFER_SIZE,
    ClientPeer,
    RequestFrame,
    RequestHeader,
    ServerPeer,
    decode_response,
    request_frame,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

ApiVersionsRequest: Any = protocol.request("ApiVersions")
ApiVersionsResponse: Any = protocol.response("ApiVersions")
FetchRequest: Any = protocol.request("Fetch")
FetchResponse: Any = protocol.response("Fetch")
MetadataRequest: Any = protocol.request("Metadata")
MetadataResponse: Any = protocol.response("Metadata")
ProduceRequest: Any = protocol.request("Produce")

FRAME = request_frame(ApiVersionsRequest(), 0, "me")


def answer(correlation_id: int, body: bytes = b"") -> bytes:
    return struct.pack(">ii", 4 + len(body), correlation_id) + body


def peer_with(*pendings: object) -> ClientPeer:
    """A peer with one request in flight for each pending; their correlation ids are 0, 1, ..."""
    peer = ClientPeer()
    for pending in pendings:
        peer.request(FRAME, pending)
    return peer


def receive(peer: ClientPeer, data: bytes, chunk: int = 1 << 30) -> list[tuple[Any, bytes]]:
    """Hand data to a peer as a driver does, at most `chunk` bytes at a time."""
    found: list[tuple[Any, bytes]] = []
    while data:
        room = peer.get_buffer()
        taken = data[: min(chunk, len(room))]
        room[: len(taken)] = taken
        found += [(pending, bytes(frame)) for pending, frame in peer.received(len(taken))]
        data = data[len(taken) :]
    return found


# Requests


@pytest.mark.parametrize(
    ("message", "version", "expected"),
    [
        (ApiVersionsRequest(), 0, "0000000c 0012 0000 00000000 0002 6d65"),
        (ApiVersionsRequest(), 3, "00000010 0012 0003 00000000 0002 6d65 00 01 01 00"),
        (MetadataRequest(topics=None), 1, "00000010 0003 0001 00000000 0002 6d65 ffffffff"),
    ],
)
def test_trap_1_request_bytes_with_a_client_id_that_is_never_compact(message: Any, version: int, expected: str) -> None:
    frame = request_frame(message, version, "me")
    assert frame.size == sum(map(len, frame.tail))
    assert b"".join(ClientPeer().request(frame, "pending")) == bytes.fromhex(expected)


def test_large_records_are_not_copied_into_a_frame() -> None:
    records = bytes(1_000_000)
    partition = ProduceRequest.TopicProduceData.PartitionProduceData(records=records)
    message = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[partition])])
    parts = ClientPeer().request(request_frame(message, 9, "me"), None)
    assert len(parts) == 3
    assert parts[1] is records
    assert struct.unpack_from(">i", parts[0])[0] + 4 == sum(map(len, parts))


def test_a_client_id_that_is_too_long() -> None:
    with pytest.raises(EncodeError, match="client_id has 40000 bytes"):
        request_frame(ApiVersionsRequest(), 0, "x" * 40000)


def correlation_id(parts: Iterable[Any]) -> int:
    found: int = struct.unpack_from(">i", b"".join(parts), 8)[0]
    return found


def test_trap_10_correlation_ids_wrap_to_zero_after_the_largest_int32() -> None:
    peer = ClientPeer()
    assert [correlation_id(peer.request(FRAME, "p")) for _ in range(3)] == [0, 1, 2]
    peer._last_id = 0x7FFFFFFE  # noqa: SLF001  # two thousand million requests would take too long
    assert [correlation_id(peer.request(FRAME, "p")) for _ in range(3)] == [0x7FFFFFFF, 0, 1]


# Responses


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 7, 1000])
def test_trap_13_responses_cut_anywhere(chunk: int) -> None:
    peer = peer_with("a", "b", "c", "d")
    stream = answer(0) + answer(1, b"one") + answer(3, bytes(200)) + answer(2, b"two")
    assert receive(peer, stream, chunk) == [
        ("a", b"\0\0\0\0"),
        ("b", b"\0\0\0\1one"),
        ("d", b"\0\0\0\3" + bytes(200)),
        ("c", b"\0\0\0\2two"),
    ]
    assert peer.outstanding() == []


@pytest.mark.parametrize("size", [BUFFER_SIZE - 9, BUFFER_SIZE - 8, BUFFER_SIZE - 7, BUFFER_SIZE, 3 * BUFFER_SIZE])
@pytest.mark.parametrize("chunk", [1000, 65536])
def test_responses_around_the_size_of_the_buffer(size: int, chunk: int) -> None:
    peer = peer_with("a", "b", "c")
    body = bytes(range(256)) * (size // 256 + 1)
    found = receive(peer, answer(0, b"x") + answer(1, body[:size]) + answer(2, b"y"), chunk)
    assert found == [("a", b"\0\0\0\0x"), ("b", b"\0\0\0\1" + body[:size]), ("c", b"\0\0\0\2y")]


def test_a_large_response_is_received_into_its_own_bytearray() -> None:
    peer = peer_with("a")
    data = answer(0, bytes(1_000_000))
    assert receive(peer, data[:100]) == []
    assert len(peer.get_buffer()) == len(data) - 100
    room = peer.get_buffer()
    room[:] = data[100:]
    [(pending, frame)] = peer.received(len(room))
    assert pending == "a"
    assert isinstance(frame, bytearray)
    assert frame == data[4:]
    assert room.obj is frame


def test_trap_11_requests_without_a_response_are_not_waited_for() -> None:
    """acks=0."""
    peer = ClientPeer()
    peer.request(FRAME, None)
    peer.request(FRAME, "second")
    assert peer.outstanding() == ["second"]
    assert receive(peer, answer(1)) == [("second", b"\0\0\0\1")]


def test_outstanding_and_forget() -> None:
    peer = peer_with("a", "b", "c")
    receive(peer, answer(1))
    assert peer.outstanding() == ["a", "c"]
    peer.forget("a")
    peer.forget("unheard of")
    assert peer.outstanding() == ["c"]


@pytest.mark.parametrize("stream", [answer(7), answer(0) + answer(0), answer(-1)])
@pytest.mark.parametrize("chunk", [1, 1000])
def test_trap_10_a_response_to_nothing_is_an_error(stream: bytes, chunk: int) -> None:
    peer = peer_with("a")
    with pytest.raises(DecodeError, match=r"correlation id -?\d came, which no request waits for"):
        receive(peer, stream, chunk)


@pytest.mark.parametrize("size", [-1, 0, 3, 101, 0x7FFFFFFF, -0x80000000])
def test_trap_9_impossible_sizes(size: int) -> None:
    peer = ClientPeer(max_frame_size=100)
    with pytest.raises(DecodeError, match=str(size)):
        receive(peer, struct.pack(">i", size))


@pytest.mark.parametrize(
    ("start", "reason"),
    [(b"HTTP/1.1 400 Bad Request\r\n", "HTTP"), (bytes.fromhex("15030300020246"), "TLS alert.*SSL")],
)
def test_trap_9_other_protocols_are_recognised(start: bytes, reason: str) -> None:
    with pytest.raises(NotKafkaError, match=reason):
        receive(ClientPeer(), start)


# Interrupts


class Interrupter:
    """Raises KeyboardInterrupt at the n-th place where CPython may deliver one.

    Those are: after a call into C, at a function's entry, at a loop's jump back.
    """

    def __init__(self, place: int) -> None:
        self.left = place

    def count(self) -> None:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt

    def profile(self, _frame: FrameType, event: str, _argument: Any) -> None:
        if event == "c_return" and _argument is not sys.setprofile and _argument is not sys.settrace:
            self.count()

    def trace(self, frame: FrameType, event: str, _argument: Any) -> Callable[..., Any]:
        frame.f_trace_opcodes = True
        if event == "call" or (
            event == "opcode" and dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("JUMP_BACKWARD")
        ):
            self.count()
        return self.trace

    def run(self, function: Callable[[], Any]) -> Any:
        before = sys.gettrace(), sys.getprofile()
        try:
            sys.setprofile(self.profile)
            sys.settrace(self.trace)
            return function()
        finally:
            sys.settrace(before[0])
            sys.setprofile(before[1])


def interrupted_everywhere(stream: bytes, chunks: list[int], place: int) -> tuple[list[tuple[Any, bytes]], bool]:
    """Receive a stream with one interrupt in each `received`, run again as drivers do; whether any place was reached."""
    peer = peer_with("a", "b", "c", "d")
    found: list[tuple[Any, bytes]] = []
    reached = False
    for chunk in chunks:
        room = peer.get_buffer()
        taken = stream[: min(chunk, len(room))]
        room[: len(taken)] = taken
        stream = stream[len(taken) :]
        try:
            responses = Interrupter(place).run(lambda: peer.received(len(taken)))  # noqa: B023  # called at once
        except KeyboardInterrupt:
            reached = True
            responses = peer.received(len(taken))
        found += [(pending, bytes(frame)) for pending, frame in responses]
    return found, reached


@pytest.mark.parametrize(
    "chunks",
    [[1000], [10, 9, 1000], [20, 50_000, 50_000, 100_000], [1 << 16] * 4],
    ids=["small", "cut", "large", "buffers"],
)
def test_received_can_be_run_again_after_an_interrupt_anywhere(chunks: list[int]) -> None:
    small = answer(0, b"zero") + answer(2) + answer(1, b"one")
    large = answer(0, b"zero") + answer(3, bytes(range(250)) * 400) + answer(2) + answer(1, b"one")
    stream = large if sum(chunks) > 10_000 else small
    expected, _ = interrupted_everywhere(stream, chunks, -1)
    assert len(expected) == (4 if stream is large else 3)
    place, reached = 0, True
    while reached:
        place += 1
        found, reached = interrupted_everywhere(stream, chunks, place)
        assert found == expected
    assert place > 10


# decode_response


def test_trap_2_flexible_responses_have_tags_in_their_header_and_api_versions_never() -> None:
    metadata = protocol.encode(MetadataResponse(), 9)
    assert decode_response(MetadataResponse, 9, bytes(4) + b"\0" + metadata) == MetadataResponse()
    assert decode_response(MetadataResponse, 9, bytes(4) + b"\1\5\2??" + metadata) == MetadataResponse()
    assert decode_response(MetadataResponse, 8, bytes(4) + protocol.encode(MetadataResponse(), 8)) == MetadataResponse()
    versions = protocol.encode(ApiVersionsResponse(), 3)
    assert decode_response(ApiVersionsResponse, 3, bytes(4) + versions) == ApiVersionsResponse()


@pytest.mark.parametrize(
    ("api", "version", "request_tags", "response_tags"),
    [
        ("Metadata", 8, False, False),
        ("Metadata", 9, True, True),
        ("Produce", 8, False, False),
        ("Produce", 9, True, True),
        ("ApiVersions", 2, False, False),
        ("ApiVersions", 3, True, False),
        ("SaslHandshake", 1, False, False),
        ("OffsetDelete", 0, False, False),
    ],
)
def test_trap_3_the_header_follows_from_the_api_and_its_version(
    api: str, version: int, request_tags: bool, response_tags: bool
) -> None:
    """On one connection, whatever was sent on it before."""
    client, server = ClientPeer(), ServerPeer()
    server.received(b"".join(client.request(request_frame(MetadataRequest(), 12, "me"), "first")))
    message: Any = protocol.request(api)()
    request = b"".join(client.request(request_frame(message, version, "me"), "second"))
    body = protocol.encode(message, version)
    assert request[14:] == b"me" + (b"\0" if request_tags else b"") + body
    [(header, found)] = server.received(request)
    assert (header, bytes(found)) == (RequestHeader(type(message).key, version, 1, "me"), body)
    reply: Any = protocol.response(api)()
    response = b"".join(server.response_frame(header, reply, version))
    assert response[8:] == (b"\0" if response_tags else b"") + protocol.encode(reply, version)
    assert decode_response(type(reply), version, response[4:]) == reply


@pytest.mark.parametrize("frame", [b"", bytes(3), bytes(4), bytes(4) + b"\1", bytes(4) + b"\1\5\2?", bytes(4) + b"\xff" * 6])
def test_malformed_response_headers(frame: bytes) -> None:
    with pytest.raises(DecodeError, match="malformed MetadataResponse v9 at byte"):
        decode_response(MetadataResponse, 9, frame)


# The broker's end


def test_requests_reach_the_server_and_responses_come_back() -> None:
    client, server = ClientPeer(), ServerPeer()
    sent = [
        (ApiVersionsRequest(client_software_name="kw"), 3),
        (MetadataRequest(topics=None), 1),
        (FetchRequest(max_wait_ms=5), 12),
    ]
    stream = b"".join(b"".join(client.request(request_frame(message, v, "me"), i)) for i, (message, v) in enumerate(sent))
    received = server.received(stream)
    assert [header for header, _ in received] == [
        RequestHeader(18, 3, 0, "me"),
        RequestHeader(3, 1, 1, "me"),
        RequestHeader(1, 12, 2, "me"),
    ]
    for (header, body), (message, version) in zip(received, sent, strict=True):
        assert protocol.decode(protocol.request(header.api_key), version, body) == message
    replies = [ApiVersionsResponse(), MetadataResponse(), FetchResponse()]
    written = b"".join(
        b"".join(server.response_frame(header, reply, header.api_version))
        for (header, _), reply in zip(received, replies, strict=True)
    )
    for (pending, frame), reply in zip(receive(client, written), replies, strict=True):
        assert decode_response(type(reply), sent[pending][1], frame) == reply


@pytest.mark.parametrize("chunk", [1, 3, 10, 17])
def test_trap_13_requests_cut_anywhere(chunk: int) -> None:
    client, server = ClientPeer(), ServerPeer()
    stream = b"".join(b"".join(client.request(request_frame(MetadataRequest(topics=None), v, "me"), v)) for v in range(1, 13))
    found = [request for at in range(0, len(stream), chunk) for request in server.received(stream[at : at + chunk])]
    assert [(header.api_version, header.correlation_id) for header, _ in found] == [(v, v - 1) for v in range(1, 13)]
    assert all(protocol.decode(MetadataRequest, h.api_version, body) == MetadataRequest(topics=None) for h, body in found)


def test_a_request_without_a_client_id_and_one_of_an_unknown_api() -> None:
    server = ServerPeer()
    data = bytes.fromhex("0000000a 0003 0001 00000007 ffff") + bytes.fromhex("0000000d 7fff 0009 00000008 0001 41 ffff")
    assert [(header, bytes(body)) for header, body in server.received(data)] == [
        (RequestHeader(3, 1, 7, None), b""),
        (RequestHeader(0x7FFF, 9, 8, "A"), b"\xff\xff"),
    ]


def test_trap_4_controlled_shutdown_0_has_no_client_id() -> None:
    """Its body is the id of a broker; from version 1 on the client id is there."""
    without, with_one = "0000000c 0007 0000 00000005 00000003", "00000010 0007 0001 00000006 0002 6d65 00000003"
    data = bytes.fromhex(without + with_one)
    assert [(header, bytes(body)) for header, body in ServerPeer().received(data)] == [
        (RequestHeader(7, 0, 5, None), b"\0\0\0\3"),
        (RequestHeader(7, 1, 6, "me"), b"\0\0\0\3"),
    ]


@pytest.mark.parametrize("correlation_id", [-1, -0x80000000])
def test_trap_10_clients_may_use_negative_correlation_ids(correlation_id: int) -> None:
    server = ServerPeer()
    [(header, _)] = server.received(struct.pack(">ihhihi", 14, 3, 1, correlation_id, -1, -1))
    assert header.correlation_id == correlation_id
    answer = b"".join(server.response_frame(header, MetadataResponse(), 1))
    assert struct.unpack_from(">i", answer, 4) == (correlation_id,)


@pytest.mark.parametrize(
    ("data", "error", "reason"),
    [
        (b"GET / HTTP/1.1\r\n", NotKafkaError, "HTTP"),
        (bytes.fromhex("160301020001"), NotKafkaError, "TLS handshake"),
        (bytes.fromhex("00000009"), DecodeError, "cannot have 9 bytes"),
        (bytes.fromhex("ffffffff"), DecodeError, "cannot have -1 bytes"),
        (bytes.fromhex("7fffffff"), DecodeError, "over the limit"),
        (bytes.fromhex("0000000a 0003 0001 00000007 0001"), DecodeError, "client_id has the length 1"),
        (bytes.fromhex("0000000b 0003 0001 00000007 0001 ff"), DecodeError, "not UTF-8"),
        (bytes.fromhex("0000000a 0003 0009 00000007 0000"), DecodeError, "middle of a field"),
    ],
)
def test_malformed_requests(data: bytes, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        ServerPeer().received(data)


def test_trap_5_api_versions_is_answered_in_version_0_if_need_be() -> None:
    """KIP-511."""
    [(header, _)] = ServerPeer().received(b"".join(ClientPeer().request(RequestFrame(18, 99, [b"\0\2me\0"], 5), "p")))
    reply = ApiVersionsResponse(error_code=35)
    assert b"".join(ServerPeer().response_frame(header, reply, 0)) == bytes.fromhex("0000000a 00000000 0023 00000000")
