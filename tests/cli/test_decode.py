"""`kafkawire decode`: frames, record batches and segment files. Captures are in test_decode_captures.py."""

from __future__ import annotations

import base64
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from kafkawire import protocol
from kafkawire.cli.app import app
from kafkawire.cli.decode.records import record_lines
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.formats.logged import ControlRecord, ControlRecordType, coordinator_key, encode_control_record
from kafkawire.protocol.records.legacy import encode_message_set
from tests.cli.decoding import batch, lines, request, response, run

if TYPE_CHECKING:
    from pathlib import Path

Metadata: Any = protocol.request("Metadata")
MetadataResponse: Any = protocol.response("Metadata")
Produce: Any = protocol.request("Produce")
OffsetCommitKey: Any = protocol.data("OffsetCommitKey")
OffsetCommitValue: Any = protocol.data("OffsetCommitValue")

METADATA_LINE = {
    "request": "Metadata",
    "version": 12,
    "correlationId": 0,
    "clientId": "me",
    "body": {"topics": None, "allowAutoTopicCreation": True, "includeTopicAuthorizedOperations": False},
}


METADATA = request(Metadata(topics=None), 12)


@pytest.mark.parametrize("data", [METADATA, METADATA[4:]], ids=["with size", "without size"])
def test_a_request_in_every_form_of_input(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "frame.bin"
    file.write_bytes(data)
    spaced = " ".join(f"{byte:02X}" for byte in data)
    for argument in (data.hex(), "0x" + data.hex(), spaced, base64.b64encode(data).decode(), file):
        assert lines(argument) == [METADATA_LINE]
    assert lines("-", stdin=data) == lines(stdin=data) == [METADATA_LINE]


XXD = """\
00000000: 0000 001b 0003 0001 0000 0007 0002 6d65  ..............me
00000010: 0000 0002 0001 7400 066f 7264 6572 73    ......t..orders
"""
HEXDUMP = """\
00000000  00 00 00 1b 00 03 00 01  00 00 00 07 00 02 6d 65  |..............me|
00000010  00 00 00 02 00 01 74 00  06 6f 72 64 65 72 73     |......t..orders|
0000001f
"""
WIRESHARK = """\
0000   00 00 00 1b 00 03 00 01 00 00 00 07 00 02 6d 65   ..............me
0010   00 00 00 02 00 01 74 00 06 6f 72 64 65 72 73      ......t..orders
"""
TCPDUMP = """\
\t0x0000:  0000 001b 0003 0001 0000 0007 0002 6d65  ..............me
\t0x0010:  0000 0002 0001 7400 066f 7264 6572 73    ......t..orders
"""
OD = " 00 00 00 1b 00 03 00 01 00 00 00 07 00 02 6d 65\n 00 00 00 02 00 01 74 00 06 6f 72 64 65 72 73\n"
BASE64 = "AAAAGwADAAEAAAAHAAJtZQAAAAIAAXQA\nBm9yZGVycw==\n"


@pytest.mark.parametrize(
    "written", [XXD, HEXDUMP, WIRESHARK, TCPDUMP, OD, BASE64, OD.replace(" ", ":").replace("\n:", "\n")[1:]]
)
def test_text_in_a_file_or_on_standard_input_is_read_as_what_it_stands_for(written: str, tmp_path: Path) -> None:
    file = tmp_path / "frame.txt"
    file.write_text(written)
    (line,) = lines(stdin=written.encode())
    assert line["body"] == {"topics": [{"name": "t"}, {"name": "orders"}]}
    assert lines(file) == lines("-", stdin=written.replace("\n", "\r\n").encode()) == [line]


@pytest.mark.parametrize(
    ("dump", "reason"),
    [
        (XXD.splitlines()[0] + "\n" + XXD.splitlines()[1].replace("0000001", "0000002"), "after 16 bytes of a dump"),
        (HEXDUMP.splitlines()[0] + "\n*\n00000020", "hexdump -v leaves out none"),
        ("not hex at all", "no hex and no base64"),
    ],
)
def test_text_that_is_damaged_is_refused(dump: str, reason: str) -> None:
    """A line that is missing would give other bytes."""
    found, errors, code = run(stdin=dump.encode())
    assert (found, code) == ([], 2)
    assert reason in errors


def test_several_frames_one_after_the_other() -> None:
    data = METADATA + request(Metadata(topics=[Metadata.Topic(name="t")]), 0)
    assert lines(data.hex()) == [
        METADATA_LINE,
        {"request": "Metadata", "version": 0, "correlationId": 0, "clientId": "me", "body": {"topics": [{"name": "t"}]}},
    ]


@pytest.mark.parametrize("api", ["Metadata", "3"])
def test_a_response_needs_its_api_and_version(api: str) -> None:
    message = MetadataResponse(brokers=[MetadataResponse.Broker(node_id=1, host="h", port=9092)])
    (line,) = lines("--api", api, "--version", "1", response(message, 1, 7).hex())
    assert line == {
        "response": "Metadata",
        "version": 1,
        "correlationId": 7,
        "body": {"brokers": [{"nodeId": 1, "host": "h", "port": 9092, "rack": None}], "controllerId": -1, "topics": []},
    }
    for arguments in (["--api", api], ["--version", "1"], ["--as", "response"]):
        assert run(*arguments, "00")[2] == 2


def test_a_refused_api_versions_is_answered_in_version_0() -> None:
    """Trap 5."""
    frame = bytes.fromhex("00000007 0023 00000001 0012 0000 0003")
    (line,) = lines("--api", "ApiVersions", "--version", "4", frame.hex())
    assert line["body"] == {"errorCode": 35, "apiKeys": [{"apiKey": 18, "minVersion": 0, "maxVersion": 3}]}


def test_records_in_a_message_are_shown() -> None:
    topic = Produce.TopicProduceData(name="t", partition_data=[Produce.TopicProduceData.PartitionProduceData(records=None)])
    topic.partition_data[0].records = batch([(b"key", b"value")])
    (line,) = lines(request(Produce(acks=-1, timeout_ms=1, topic_data=[topic]), 7).hex())
    header, record = line["body"]["topicData"][0]["partitionData"][0]["records"]
    assert header["batch"]["count"] == 1
    assert record == {"offset": 0, "timestamp": 1000, "key": "key", "value": "value"}


def test_consumers_group_data_is_shown_and_others_stay_bytes() -> None:
    join: Any = protocol.request("JoinGroup")
    subscription: Any = protocol.data("ConsumerProtocolSubscription")
    connect = b"\0\1\0\4http\0\0\0\0\0\0\0\0"
    protocols = [
        join.Protocol(name="range", metadata=protocol.encode_versioned(subscription(topics=["t"]), 1)),
        join.Protocol(name="default", metadata=connect),
    ]
    (line,) = lines(request(join(group_id="g", protocol_type="consumer", protocols=protocols), 5).hex())
    shown = [each["metadata"] for each in line["body"]["protocols"]]
    assert shown == [
        {"version": 1, "topics": ["t"], "userData": None, "ownedPartitions": []},
        base64.b64encode(connect).decode(),
    ]


def test_secrets_are_not_shown() -> None:
    sasl: Any = protocol.request("SaslAuthenticate")
    scram: Any = protocol.request("AlterUserScramCredentials")
    upsertion = scram.ScramCredentialUpsertion(
        name="u", mechanism=1, iterations=4096, salt=b"SECRET", salted_password=b"SECRET"
    )
    for message, version in ((sasl(auth_bytes=b"\0user\0SECRET"), 2), (scram(upsertions=[upsertion]), 0)):
        data = request(message, version)
        done = CliRunner().invoke(app, ["decode", data.hex()])
        assert done.exit_code == 0
        assert '"***"' in done.output
        assert "SECRET" not in done.output
        assert base64.b64encode(b"SECRET").decode()[:7] not in done.output


def test_a_damaged_body_shows_its_header_and_where_it_ends() -> None:
    found, errors, code = run(METADATA[4:-2].hex())
    (line,) = found
    assert line == {name: value for name, value in METADATA_LINE.items() if name != "body"} | {"error": line["error"]}
    assert errors == f"Error: {line['error']}\n"
    assert "MetadataRequest v12 at byte" in errors
    assert code == 1


@pytest.mark.parametrize(
    ("frame", "reason"),
    [
        ("0003", "RequestHeader v2 at byte 0"),
        ("0003 0063 00000001 ffff 00", "MetadataRequest is known in versions 0-13, not 99"),
        ("03e7 0000 00000001 ffff", "the messages of API 999 are not declared"),
    ],
)
def test_frames_that_cannot_be_read(frame: str, reason: str) -> None:
    _, errors, code = run(frame)
    assert reason in errors
    assert code == 1


def test_input_that_is_nothing() -> None:
    for arguments in (["no such file.bin"], ["--api", "Nonsense", "--version", "0", "00"]):
        _, errors, code = run(*arguments)
        assert code == 2
        assert "Invalid value" in errors


def test_bytes_are_text_or_base64() -> None:
    """Text is UTF-8 without control characters, whatever its length."""
    values = [b"plain", "größe\n".encode(), b"", None, b"\xff\xfe", b"\0\0\0\1"]
    found = lines(batch([(None, value) for value in values]).hex())
    shown = ["plain", "größe\n", "", None, {"base64": "//4="}, {"base64": "AAAAAQ=="}]
    assert [line["value"] for line in found[1:]] == shown


def test_a_batch_and_its_records() -> None:
    found = lines(batch([(b"k", b"v", (("h", b"1"), ("h", None)))], base_offset=5, codec=Codec.GZIP).hex())
    assert found == [
        {
            "batch": {
                "position": 0,
                "size": found[0]["batch"]["size"],
                "magic": 2,
                "codec": "gzip",
                "timestampType": "CreateTime",
                "baseOffset": 5,
                "lastOffset": 5,
                "count": 1,
                "maxTimestamp": 1000,
                "leaderEpoch": -1,
                "producerId": -1,
                "producerEpoch": -1,
                "baseSequence": -1,
                "isTransactional": False,
                "isControl": False,
            }
        },
        {"offset": 5, "timestamp": 1000, "headers": [["h", "1"], ["h", None]], "key": "k", "value": "v"},
    ]


@pytest.mark.parametrize("magic", [0, 1])
def test_message_sets(magic: int) -> None:
    records = [(b"k", b"%d" % n, 1000 + n) for n in range(3)]
    plain = lines("--as", "records", encode_message_set(magic, records).hex())
    assert [(line["offset"], line["key"], line["value"]) for line in plain] == [(0, "k", "0"), (1, "k", "1"), (2, "k", "2")]
    wrapper, *packed = lines("--as", "records", encode_message_set(magic, records, codec=Codec.GZIP).hex())
    assert packed == plain
    assert (wrapper["batch"]["magic"], wrapper["batch"]["codec"]) == (magic, "gzip")


def test_control_records_are_named() -> None:
    marker: Any = protocol.data("EndTxnMarker")
    records = [
        encode_control_record(ControlRecord(ControlRecordType.ABORT, marker(coordinator_epoch=3))),
        (b"\0\0\0\x63", b"?"),
    ]
    found = lines(batch(records, control=True).hex())
    assert [(line["control"], line["value"]) for line in found[1:]] == [("ABORT", {"coordinatorEpoch": 3}), (99, "?")]


def segment(directory: Path, *batches: bytes) -> Path:
    directory.mkdir()
    file = directory / f"{0:020}.log"
    file.write_bytes(b"".join(batches))
    return file


def test_the_offsets_topic_is_known_by_its_directory(tmp_path: Path) -> None:
    key = coordinator_key(OffsetCommitKey(group="g", topic="t", partition=1))
    value = protocol.encode_versioned(OffsetCommitValue(offset=5, leader_epoch=2, commit_timestamp=7), 3)
    file = segment(tmp_path / "__consumer_offsets-12", batch([(key, value)]), batch([(key, None)], base_offset=1))
    shown = {"type": "OffsetCommit", "key": {"group": "g", "topic": "t", "partition": 1}}
    first = {"version": 3, "value": {"offset": 5, "leaderEpoch": 2, "metadata": "", "commitTimestamp": 7}}
    expected = [{"offset": 0, "timestamp": 1000} | shown | first, {"offset": 1, "timestamp": 1000, "value": None} | shown]
    assert [line for line in lines(file) if "batch" not in line] == expected
    assert [line for line in lines("--topic", "__consumer_offsets", stdin=file.read_bytes()) if "batch" not in line] == expected
    assert "type" not in lines("--topic", "other", file)[1]


def test_the_transaction_topic_is_known_by_its_directory(tmp_path: Path) -> None:
    key: Any = protocol.data("TransactionLogKey")
    value: Any = protocol.data("TransactionLogValue")
    record = (coordinator_key(key(transactional_id="x")), protocol.encode_versioned(value(producer_id=9), 1))
    (_, line) = lines(segment(tmp_path / "__transaction_state-0", batch([record])))
    assert (line["type"], line["key"], line["value"]["producerId"]) == ("TransactionLog", {"transactionalId": "x"}, 9)


def aborted_entry(producer_id: int) -> tuple[bytes, dict[str, int]]:
    """An entry of a transaction index, written by hand, and what is in it."""
    numbers = [producer_id, 10, 19, 15]
    names = ["producerId", "firstOffset", "lastOffset", "lastStableOffset"]
    return b"\0\0" + b"".join(number.to_bytes(8) for number in numbers), dict(zip(names, numbers, strict=True))


def test_an_index_of_aborted_transactions_is_known_by_its_suffix(tmp_path: Path) -> None:
    (first, shown), (second, shown_second) = aborted_entry(7), aborted_entry(1 << 40)
    file = tmp_path / f"{0:020}.txnindex"
    file.write_bytes(first + second)
    expected = [
        {"position": 0, "version": 0, "aborted": shown},
        {"position": 34, "version": 0, "aborted": shown_second},
    ]
    assert lines(file) == lines("--as", "txnindex", stdin=first + second) == expected
    file.write_bytes(b"")
    assert lines(file) == []


@pytest.mark.parametrize(
    ("rest", "reason"),
    [
        (aborted_entry(1)[0][:-1], "the last entry is cut off after 33 of 34 bytes"),
        (b"\0\1" + aborted_entry(1)[0][2:], "only versions 0 are known"),
    ],
)
def test_an_index_of_aborted_transactions_is_read_up_to_where_it_is_damaged(rest: bytes, reason: str) -> None:
    good, shown = aborted_entry(7)
    found, errors, code = run("--as", "txnindex", stdin=good + rest)
    assert [line["aborted"] for line in found] == [shown]
    assert reason in errors
    assert "at byte 34" in errors
    assert code == 1


def test_a_record_of_a_kind_to_come_is_shown_as_bytes(tmp_path: Path) -> None:
    known = coordinator_key(OffsetCommitKey(group="g", topic="t", partition=1))
    found, errors, code = run(segment(tmp_path / "__consumer_offsets-0", batch([(b"\0\x63new", b"v"), (known, None)])))
    assert found[1]["key"] == {"base64": "AGNuZXc="}
    assert found[2]["type"] == "OffsetCommit"
    assert "a coordinator's record of kind 99 is unknown" in errors
    assert code == 1


def test_a_segment_is_read_up_to_where_it_is_damaged(tmp_path: Path) -> None:
    good = batch([(b"k", b"v")], base_offset=7)
    for number, (bad, reason) in enumerate(
        [
            (good[:-1] + b"\xff", "has checksum"),
            (good[:-1], f"the last batch is cut off after {len(good) - 1} of {len(good)} bytes"),
            (good[:10], "the last batch is cut off after 10 bytes"),
            (bytes(17) + b"x", "a batch of 0 bytes"),
            (good[:16] + b"\x09" + good[17:], "unknown message format 9"),
            (good[:8] + b"\x7f\xff\xff\xff" + good[12:], "the last batch is cut off"),
            (good[:8] + b"\xff\xff\xff\xff" + good[12:], "a batch of -1 bytes"),
        ]
    ):
        found, errors, code = run(segment(tmp_path / f"t-{number}", good, bad))
        assert [line.get("value") for line in found] == [None, "v"]
        assert reason in errors
        assert errors.startswith(f"Error: malformed data at byte {len(good) + (16 if 'format' in reason else 0)}: ")
        assert code == 1


def test_a_segment_made_at_its_full_size_ends_in_zeros(tmp_path: Path) -> None:
    assert len(lines(segment(tmp_path / "t-0", batch([(b"k", b"v")]), bytes(100_000)))) == 2


def test_a_large_segment_is_not_read_at_once(tmp_path: Path) -> None:
    one = batch([(None, bytes(1_000_000))])
    file = segment(tmp_path / "t-0", *[one] * 40)
    tracemalloc.start()
    try:
        with file.open("rb") as stream:
            assert sum("batch" in line for line in record_lines(stream)) == 40
        assert tracemalloc.get_traced_memory()[1] < 15_000_000
    finally:
        tracemalloc.stop()
