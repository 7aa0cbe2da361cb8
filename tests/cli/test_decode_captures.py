"""`kafkawire decode` on captures: connections put together from packets, requests with their responses."""

from __future__ import annotations

import random
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire import protocol
from kafkawire.cli.decode.connections import connection_lines
from kafkawire.cli.decode.pcap import segments
from kafkawire.errors import DecodeError
from kafkawire.protocol.sasl_frames import token_frame
from tests.cli.captures import BROKER, CLIENT, LINKS, Packet, Talk, pcap, pcapng
from tests.cli.decoding import batch, lines, request, response, run

if TYPE_CHECKING:
    from pathlib import Path

Metadata: Any = protocol.request("Metadata")
MetadataResponse: Any = protocol.response("Metadata")
Produce: Any = protocol.request("Produce")
SaslHandshake: Any = protocol.request("SaslHandshake")
SaslHandshakeResponse: Any = protocol.response("SaslHandshake")

ASK = [request(Metadata(topics=None), 12, number) for number in range(3)]
ANSWER = [response(MetadataResponse(cluster_id=f"answer {number}"), 12, number) for number in range(3)]


def capture(packets: list[Packet], **form: Any) -> list[dict]:
    return lines(stdin=pcap(packets, **form))


def said(found: list[dict]) -> list[tuple]:
    """Senders of the messages, by correlation id."""
    return [(line["src"], line.get("request") or line.get("response"), line.get("correlationId")) for line in found]


TALK = Talk().sends(ASK[0]).answers(ANSWER[0]).sends(ASK[1] + ASK[2]).answers(ANSWER[1] + ANSWER[2])
SAID = [
    (CLIENT, "Metadata", 0),
    (BROKER, "Metadata", 0),
    (CLIENT, "Metadata", 1),
    (CLIENT, "Metadata", 2),
    (BROKER, "Metadata", 1),
    (BROKER, "Metadata", 2),
]


def test_a_line_says_when_and_between_whom() -> None:
    asked, answered = capture(TALK.packets)[:2]
    assert asked == {
        "time": "2023-11-14T22:13:20.002000+00:00",
        "src": CLIENT,
        "dst": BROKER,
        "request": "Metadata",
        "version": 12,
        "correlationId": 0,
        "clientId": "me",
        "body": asked["body"],
    }
    assert (answered["response"], answered["version"], answered["body"]["clusterId"]) == ("Metadata", 12, "answer 0")


@pytest.mark.parametrize("order", "<>")
@pytest.mark.parametrize("link", LINKS)
def test_every_form_of_capture(order: str, link: str) -> None:
    expected = capture(TALK.packets)
    assert said(expected) == SAID
    assert capture(TALK.packets, order=order, link=link) == expected
    assert capture(TALK.packets, order=order, link=link, nanoseconds=True) == expected
    assert lines(stdin=pcapng(TALK.packets, order=order, link=link)) == expected


def test_ipv6() -> None:
    talk = Talk("[::1]:40000", "[fe80::2]:9092").sends(ASK[0]).answers(ANSWER[0])
    assert said(capture(talk.packets)) == [("[::1]:40000", "Metadata", 0), ("[fe80::2]:9092", "Metadata", 0)]


@pytest.mark.parametrize("size", [1, 7, 100])
def test_frames_cut_into_any_packets(size: int) -> None:
    talk = Talk()
    for number in range(3):
        for speak, data in ((talk.sends, ASK[number]), (talk.answers, ANSWER[number])):
            speak(*(data[at : at + size] for at in range(0, len(data), size)))
    assert said(capture(talk.packets)) == [(end, "Metadata", number) for number in range(3) for end in (CLIENT, BROKER)]


@pytest.mark.parametrize("seed", range(20))
def test_packets_out_of_order_and_sent_again(seed: int) -> None:
    dice = random.Random(seed)
    data = b"".join(ASK)
    cuts = sorted(dice.sample(range(1, len(data)), 8))
    talk = Talk().sends(*(data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)))
    opened, sent = talk.packets[:2], talk.packets[2:]
    again = [packet._replace(seq=packet.seq - 1 & 0xFFFFFFFF, payload=b"\0" + packet.payload) for packet in sent[1:4]]
    again = [a._replace(payload=before.payload[-1:] + a.payload[1:]) for a, before in zip(again, sent, strict=False)]
    shuffled = sent + dice.choices(sent, k=4) + again
    dice.shuffle(shuffled)
    assert said(capture(opened + shuffled)) == [(CLIENT, "Metadata", number) for number in range(3)]


def test_a_connection_that_was_open_before() -> None:
    late = Talk(opened=False).answers(b"the end of something").sends(b"likewise, of a request").sends(ASK[0]).answers(ANSWER[0])
    assert said(capture(late.packets)) == [(CLIENT, "Metadata", 0), (BROKER, "Metadata", 0)]


def test_a_port_that_is_used_again() -> None:
    found = capture(Talk().sends(ASK[0]).packets + Talk().sends(ASK[1]).answers(ANSWER[1]).packets)
    assert said(found) == [(CLIENT, "Metadata", 0), (CLIENT, "Metadata", 1), (BROKER, "Metadata", 1)]


def test_produce_that_nobody_answers() -> None:
    """Trap 11: with acks=0 the next response belongs to the next request."""
    topic = Produce.TopicProduceData(name="t", partition_data=[Produce.TopicProduceData.PartitionProduceData(records=None)])
    topic.partition_data[0].records = batch([(None, b"v")])
    silent = request(Produce(acks=0, timeout_ms=1, topic_data=[topic]), 7)
    found = capture(Talk().sends(silent + ASK[1]).answers(ANSWER[1]).packets)
    assert said(found) == [(CLIENT, "Produce", 0), (CLIENT, "Metadata", 1), (BROKER, "Metadata", 1)]
    assert found[0]["body"]["topicData"][0]["partitionData"][0]["records"][1]["value"] == "v"


def test_sasl_tokens_without_headers_are_not_shown() -> None:
    """Trap 120: after version 0 of the handshake they are bare, until the first request."""
    talk = Talk().sends(request(SaslHandshake(mechanism="PLAIN"), 0)).answers(response(SaslHandshakeResponse(mechanisms=[]), 0))
    talk.sends(token_frame(b"\0user\0secret")).answers(token_frame(b"")).sends(ASK[1]).answers(ANSWER[1])
    found = capture(talk.packets)
    assert [line.get("request") or line["response"] for line in found] == [
        "SaslHandshake",
        "SaslHandshake",
        "SASL token",
        "SASL token",
        "Metadata",
        "Metadata",
    ]
    assert [line["size"] for line in found[2:4]] == [12, 0]
    assert "secret" not in str(found)


@pytest.mark.parametrize("start", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\0\1\0\1\xfc\x03\x03" + bytes(9)])
def test_what_is_not_kafka_in_clear_is_left_out(start: bytes) -> None:
    other = Talk("10.0.0.1:50000").sends(start, start).answers(start)
    skipped, *found = capture(other.packets + TALK.packets)
    assert skipped["skipped"] == "not Kafka, or encrypted"
    assert said(found) == SAID


def test_a_response_to_nothing_is_told() -> None:
    found, errors, code = run(stdin=pcap(Talk().sends(ASK[0]).answers(ANSWER[2] + ANSWER[0]).packets))
    assert [line.get("correlationId") for line in found] == [0, 2, 0]
    assert errors == "Error: it answers no request that was captured\n"
    assert code == 1


def test_missing_packets_are_told() -> None:
    packets = Talk().sends(ASK[0], ASK[1], ASK[2]).packets
    found, errors, code = run(stdin=pcap(packets[:3] + packets[4:]))
    assert said(found[:1]) == [(CLIENT, "Metadata", 0)]
    assert errors == "Error: bytes of this connection are missing in the capture\n"
    assert code == 1


def test_a_stream_that_loses_its_frames_is_told() -> None:
    found, errors, code = run(stdin=pcap(Talk().sends(ASK[0], b"\xff\xff\xff\xff").packets))
    assert said(found[:1]) == [(CLIENT, "Metadata", 0)]
    assert "a frame cannot have -1 bytes" in errors
    assert code == 1


def test_a_damaged_capture_is_read_up_to_there(tmp_path: Path) -> None:
    whole = pcap(TALK.packets)
    file = tmp_path / "cut.pcap"
    file.write_bytes(whole[:-10])
    found, errors, code = run(file)
    assert said(found) == SAID[:4]
    assert errors.startswith("Error: malformed data at byte ")
    assert "the capture ends after" in errors
    assert code == 1


@pytest.mark.parametrize("write", [pcap, pcapng])
def test_captures_cut_or_altered_anywhere_raise_nothing_else(write: Any) -> None:
    data = write(TALK.packets)
    dice = random.Random(1)
    for size in range(4, len(data)):
        read(data[:size])
    for _ in range(500):
        altered = bytearray(data)
        for _ in range(dice.randint(1, 4)):
            altered[dice.randrange(4, len(altered))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        read(bytes(altered))


def read(data: bytes) -> None:
    """Raises anything but a DecodeError of a byte that is there."""
    where = 0
    try:
        list(connection_lines(segments(BytesIO(data))))
    except DecodeError as error:
        where = len(data) + 1 if error.offset is None else error.offset
    assert 0 <= where <= len(data)
