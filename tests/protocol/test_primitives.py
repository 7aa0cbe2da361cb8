"""The primitive types where clients have got them wrong: null and empty, varints, tags inside, text, lengths that lie."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from kafkawire import protocol
from kafkawire.errors import DecodeError, EncodeError
from kafkawire.protocol.records import decode_columns, read_batches
from tests.protocol.records_by_hand import batch, record

ApiVersionsRequest: Any = protocol.request("ApiVersions")
ApiVersionsResponse: Any = protocol.response("ApiVersions")
MetadataRequest: Any = protocol.request("Metadata")
MetadataResponse: Any = protocol.response("Metadata")
OffsetFetchRequest: Any = protocol.request("OffsetFetch")
FetchResponse: Any = protocol.response("Fetch")


@pytest.mark.parametrize(
    ("topics", "compact", "plain"),
    [
        (None, "00", "ffffffff"),
        ([], "01", "00000000"),
        (["a"], f"02 {'00' * 16} 02 61 00", "00000001 0001 61"),
    ],
)
def test_trap_15_19_null_is_0_and_empty_is_1_where_lengths_are_compact(topics: Any, compact: str, plain: str) -> None:
    message = MetadataRequest(topics=topics and [MetadataRequest.Topic(name=name) for name in topics])
    for version, expected in ((12, compact + "01 00 00"), (1, plain)):
        body = bytes.fromhex(expected)
        assert protocol.encode(message, version) == body
        assert protocol.decode(MetadataRequest, version, body) == message


@pytest.mark.parametrize(
    ("cls", "version", "text"),
    [
        (ApiVersionsRequest, 3, "00 01 00"),  # a string
        (ApiVersionsResponse, 3, "0000 00 00000000 00"),  # an array
        (MetadataRequest, 9, "02 00 00 01 00 00 00"),  # a string inside an array: nullable only from version 10 on
    ],
)
def test_trap_15_null_is_an_error_where_a_version_has_none(cls: Any, version: int, text: str) -> None:
    with pytest.raises(DecodeError, match="is null, which this version does not allow"):
        protocol.decode(cls, version, bytes.fromhex(text))


def test_trap_16_lengths_are_unsigned_and_fields_of_records_zigzag() -> None:
    """Both read the byte 3: one as a length of 3 - 1, the other as a length of -2."""
    assert protocol.decode(ApiVersionsRequest, 3, b"\x03kw\x01\0").client_software_name == "kw"
    columns = decode_columns(read_batches(batch([record(0, b"v", b"kw")])))
    (key,) = columns.key_starts
    assert (columns.data[key - 1], columns.key_ends[0] - key) == (4, 2)


@pytest.mark.parametrize("length", ["03", "8300", "838000", "83808000", "8380808000"])
def test_trap_16_lengths_may_be_padded_up_to_five_bytes(length: str) -> None:
    decoded = protocol.decode(ApiVersionsRequest, 3, bytes.fromhex(length) + b"kw\x01\0")
    assert decoded.client_software_name == "kw"
    with pytest.raises(DecodeError, match="varint of more than 5 bytes"):
        protocol.decode(ApiVersionsRequest, 3, b"\x83\x80\x80\x80\x80\0kw\x01\0")


def test_trap_17_every_nested_struct_has_tags_of_its_own() -> None:
    unknown = {77: b"kept"}
    partition = MetadataResponse.Topic.Partition(replica_nodes=[1], unknown_tags=unknown)
    message = MetadataResponse(
        brokers=[MetadataResponse.Broker(host="a", unknown_tags=unknown), MetadataResponse.Broker(host="b")],
        topics=[MetadataResponse.Topic(name="t", partitions=[partition, partition], unknown_tags=unknown)],
        unknown_tags=unknown,
    )
    body = protocol.encode(message, 9)
    assert protocol.decode(MetadataResponse, 9, body) == message
    assert body.count(b"\1\x4d\4kept") == 5
    none = MetadataResponse(brokers=[MetadataResponse.Broker(host="a")])
    assert protocol.encode(none, 9) == bytes.fromhex("00000000 02 00000000 02 61 00000000 00 00 00 ffffffff 01 80000000 00")


def test_trap_19_null_topics_of_offset_fetch_are_all_of_them() -> None:
    group = OffsetFetchRequest.Group
    for topics, length in ((None, b"\0"), ([], b"\1")):
        body = protocol.encode(OffsetFetchRequest(groups=[group(group_id="g", topics=topics)]), 8)
        assert body == b"\2\2g" + length + b"\0\0\0"
        assert protocol.decode(OffsetFetchRequest, 8, body).groups[0].topics == topics


@pytest.mark.parametrize("version", [2, 9])
def test_trap_21_strings_are_measured_in_bytes(version: int) -> None:
    fits, too_long = "ö" * 16383 + "x", "ö" * 16384
    message = MetadataRequest(topics=[MetadataRequest.Topic(name=fits)])
    assert protocol.decode(MetadataRequest, version, protocol.encode(message, version)) == message
    with pytest.raises(EncodeError, match="name"):
        protocol.encode(MetadataRequest(topics=[MetadataRequest.Topic(name=too_long)]), version)


def test_trap_21_any_byte_but_0_is_true() -> None:
    for byte, expected in ((b"\0", False), (b"\1", True), (b"\xff", True)):
        decoded = protocol.decode(MetadataRequest, 4, b"\xff\xff\xff\xff" + byte)
        assert decoded.allow_auto_topic_creation is expected


def test_trap_21_topic_ids_are_16_bytes_and_zeros_are_none() -> None:
    assert MetadataRequest.Topic().topic_id == bytes(16)
    topic = MetadataRequest.Topic(topic_id=bytes(range(16)), name=None)
    body = protocol.encode(MetadataRequest(topics=[topic]), 12)
    assert body[1:17] == bytes(range(16))
    assert protocol.to_dict(MetadataRequest(topics=[topic]))["topics"][0]["topicId"] == "AAECAwQFBgcICQoLDA0ODw"


def test_trap_22_a_field_that_a_version_lacks_has_the_schemas_default() -> None:
    found = protocol.decode(MetadataResponse, 0, bytes(4) + bytes.fromhex("00000001 0000 0001 74 00000001") + bytes(18))
    assert (found.controller_id, found.cluster_id) == (-1, None)
    assert found.topics[0].partitions[0].leader_epoch == -1
    assert found.topics[0].topic_authorized_operations == -(1 << 31)


@pytest.mark.parametrize(
    ("cls", "version", "text"),
    [
        (MetadataRequest, 1, "7fffffff"),
        (MetadataRequest, 12, "ffffffff07"),
        (ApiVersionsResponse, 0, "0000 7fffffff"),
        (FetchResponse, 4, "00000000 00000001 0001 74 7fffffff"),
        (FetchResponse, 4, "00000000 00000001 0001 74 00000001 00000000 0000" + "00" * 16 + "7fffffff"),  # fixed-width elements
        (FetchResponse, 4, "00000000 00000001 0001 74 00000001 00000000 0000" + "00" * 16 + "ffffffff 7fffffff"),  # records
        (ApiVersionsRequest, 3, "ffffffff07"),
        (ApiVersionsRequest, 3, "01 01 ffffffff0f"),  # tags
        (ApiVersionsRequest, 3, "01 01 01 05 ffffffff0f"),  # one tag's size
    ],
)
def test_trap_23_lengths_are_checked_before_anything_is_made(cls: Any, version: int, text: str) -> None:
    body = bytes.fromhex(text)
    with pytest.raises(DecodeError):
        protocol.decode(cls, version, body)
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError):
            protocol.decode(cls, version, body)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
