"""Messages to bytes and back: every version of every message, hostile bytes, values that do not fit."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkawire import protocol
from kafkawire.errors import DecodeError, EncodeError, UnsupportedVersionError
from kafkawire.protocol import wire
from kafkawire.protocol.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from tests.protocol.strategies import CLASS_VERSIONS, messages

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Message

FetchRequest: Any = protocol.request("Fetch")
FetchResponse: Any = protocol.response("Fetch")
MetadataRequest: Any = protocol.request("Metadata")
MetadataResponse: Any = protocol.response("Metadata")
ProduceRequest: Any = protocol.request("Produce")
ProduceResponse: Any = protocol.response("Produce")
ApiVersionsRequest: Any = protocol.request("ApiVersions")
ApiVersionsResponse: Any = protocol.response("ApiVersions")

every_version = pytest.mark.parametrize(("cls", "version"), CLASS_VERSIONS, ids=lambda value: getattr(value, "__name__", value))
few_examples = settings(max_examples=12, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@every_version
@few_examples
@given(data=st.data())
def test_a_message_comes_back(cls: type[Message], version: int, data: st.DataObject) -> None:
    message = data.draw(messages(cls, version))
    body = protocol.encode(message, version)
    assert protocol.decode(cls, version, body) == message
    assert protocol.decode(cls, version, memoryview(bytearray(b"before" + body)), 6) == message
    assert b"".join(protocol.encode_parts(message, version)) == body


@every_version
@few_examples
@given(data=st.data())
def test_a_message_comes_back_through_json(cls: type[Message], version: int, data: st.DataObject) -> None:
    message = data.draw(messages(cls, version))
    text = json.dumps(protocol.to_dict(message))
    assert protocol.from_dict(cls, json.loads(text)) == message


@every_version
@settings(max_examples=2, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_trap_24_bytes_cut_short_or_too_many_are_decode_errors(cls: type[Message], version: int, data: st.DataObject) -> None:
    body = protocol.encode(data.draw(messages(cls, version)), version)
    for end in range(len(body)):
        with pytest.raises(DecodeError, match=f"malformed {cls.__name__} v{version} at byte"):
            protocol.decode(cls, version, body[:end])
    with pytest.raises(DecodeError, match="1 bytes are left over"):
        protocol.decode(cls, version, body + b"\0")


@every_version
@settings(max_examples=3, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data(), seed=st.integers(0, 1 << 32))
def test_altered_bytes_decode_or_are_decode_errors(cls: type[Message], version: int, data: st.DataObject, seed: int) -> None:
    body = protocol.encode(data.draw(messages(cls, version)), version)
    dice = random.Random(seed)
    for _ in range(30):
        altered = bytearray(body)
        for _ in range(dice.randint(1, 3)):
            if altered:
                altered[dice.randrange(len(altered))] = dice.choice((0, 1, 0x7F, 0x80, 0xFF, dice.randrange(256)))
        error = decode_error(cls, version, altered)
        if error is not None:
            assert (error.api, error.version) == (cls.__name__, version)
            assert error.offset is not None
            assert 0 <= error.offset <= len(altered)


def decode_error(cls: type[Message], version: int, data: bytearray) -> DecodeError | None:
    try:
        protocol.decode(cls, version, data)
    except DecodeError as error:
        return error
    return None


def raw(text: str) -> bytes:
    """Hexadecimal digits, with text in quotes between them, as bytes."""
    return b"".join(part.encode() if i % 2 else bytes.fromhex(part) for i, part in enumerate(text.split("'")))


GOLDEN: list[tuple[Any, int, str]] = [
    (ApiVersionsRequest(), 0, ""),
    (ApiVersionsRequest(client_software_name="kw", client_software_version="1"), 3, "03 'kw' 02 '1' 00"),
    (
        ApiVersionsResponse(error_code=35, api_keys=[ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=4)]),
        0,
        "0023 00000001 0012 0000 0004",
    ),
    (
        ApiVersionsResponse(
            api_keys=[ApiVersionsResponse.ApiVersion(api_key=3, max_version=13)],
            finalized_features_epoch=7,
            finalized_features=[ApiVersionsResponse.FinalizedFeatureKey(name="f", max_version_level=2, min_version_level=1)],
            unknown_tags={9: b"?"},
        ),
        3,
        # error, one key with its tags, throttle time, 3 tags: 1 = int64, 2 = array, 9 kept
        "0000 02 0003 0000 000d 00 00000000 03 01 08 0000000000000007 02 08 02 02 'f' 0002 0001 00 09 01 '?'",
    ),
    (MetadataRequest(topics=[MetadataRequest.Topic(name="ab")]), 0, "00000001 0002 'ab'"),
    (MetadataRequest(topics=None), 1, "ffffffff"),
    (MetadataRequest(topics=None), 9, "00 01 00 00 00"),
    (
        MetadataRequest(
            topics=[MetadataRequest.Topic(topic_id=b"0123456789abcdef", name=None)], allow_auto_topic_creation=False
        ),
        12,
        "02 '0123456789abcdef' 00 00 00 00 00",
    ),
    (
        MetadataResponse(
            brokers=[MetadataResponse.Broker(node_id=1, host="h", port=9092)],
            controller_id=1,
            topics=[
                MetadataResponse.Topic(
                    name="t",
                    partitions=[MetadataResponse.Topic.Partition(leader_id=1, replica_nodes=[1, 2], isr_nodes=[1])],
                )
            ],
        ),
        1,
        # one broker, the controller, one topic with one partition: leader, two replicas, one of them in sync
        (
            "00000001 00000001 0001 'h' 00002384 ffff  00000001  00000001 0000 0001 't' 00  00000001 0000 00000000 00000001"
            "00000002 00000001 00000002  00000001 00000001"
        ),
    ),
    (
        ProduceRequest(
            acks=-1,
            timeout_ms=1000,
            topic_data=[
                ProduceRequest.TopicProduceData(
                    name="t", partition_data=[ProduceRequest.TopicProduceData.PartitionProduceData(index=2, records=b"batch")]
                )
            ],
        ),
        3,
        "ffff ffff 000003e8 00000001 0001 't' 00000001 00000002 00000005 'batch'",
    ),
    (
        FetchResponse(
            responses=[
                FetchResponse.FetchableTopicResponse(
                    topic="t",
                    partitions=[
                        FetchResponse.FetchableTopicResponse.PartitionData(
                            high_watermark=5,
                            last_stable_offset=5,
                            log_start_offset=0,
                            current_leader=FetchResponse.FetchableTopicResponse.PartitionData.LeaderIdAndEpoch(
                                leader_id=3, leader_epoch=4
                            ),
                            aborted_transactions=None,
                            records=b"rr",
                        )
                    ],
                )
            ]
        ),
        12,
        # one topic with one partition; no aborted transactions, preferred replica -1, records, tag 1 = leader and epoch
        (
            "00000000 0000 00000000 02 02 't' 02 00000000 0000 0000000000000005 0000000000000005 0000000000000000"
            "00 ffffffff 03 'rr' 01 01 09 00000003 00000004 00 00 00"
        ),
    ),
]


@pytest.mark.parametrize(("message", "version", "text"), GOLDEN, ids=lambda value: value if isinstance(value, int) else "")
def test_bytes_are_those_of_the_specification(message: Message, version: int, text: str) -> None:
    assert protocol.encode(message, version) == raw(text)
    assert protocol.decode(type(message), version, raw(text)) == message


MALFORMED: list[tuple[type[Any], int, str, str]] = [
    (MetadataRequest, 0, "00000001 ffff", "name is null, which this version does not allow"),
    (MetadataRequest, 0, "ffffffff", "topics is null"),
    (MetadataRequest, 1, "fffffffe", "topics has the length -2"),
    (MetadataRequest, 1, "7fffffff", "topics has the length 2147483647, more than the 0 bytes left"),
    (MetadataRequest, 1, "00000002 0000", "topics has the length 2"),
    (MetadataRequest, 0, "00000001 0002 fffe", "not UTF-8"),
    (MetadataRequest, 9, "ffffffffffff", "varint of more than 5 bytes"),
    (MetadataRequest, 9, "ffffffff7f", "more than 32 bits"),
    (MetadataRequest, 9, "ffffffff0f", "topics has the length 4294967294"),
    (
        MetadataResponse,
        9,
        "00000000 01 00 00000001 02 0000 02 't' 00 02 0000 00000000 00000000 00000000 ffffffff0f",
        "replica_nodes",
    ),
    (ApiVersionsRequest, 3, "01 01 7f", "the tag section has the length 127"),
    (ApiVersionsRequest, 3, "01 01 02 05 00 05 00", "tag 5 comes after 5"),
    (ApiVersionsRequest, 3, "01 01 01 05 09 00", "tag 5 has the length 9"),
    (ApiVersionsResponse, 3, "0000 01 00000000 01 01 07 0000000000000007", "tag 1 does not end where its size says"),
    (ApiVersionsResponse, 3, "0000 01 00000000 01 01 09 0000000000000007 00", "tag 1 does not end where its size says"),
    (ApiVersionsResponse, 0, "0000", "ends in the middle of a field"),
]


@pytest.mark.parametrize(("cls", "version", "text", "reason"), MALFORMED)
def test_trap_15_18_23_malformed_bytes_are_named(cls: type[Message], version: int, text: str, reason: str) -> None:
    with pytest.raises(DecodeError, match=reason) as caught:
        protocol.decode(cls, version, raw(text))
    assert caught.value.api == cls.__name__


def test_trap_16_longer_forms_of_a_length_are_accepted() -> None:
    """Java reads them too."""
    assert protocol.decode(ApiVersionsRequest, 3, raw("8300 'kw' 828000 '1' 8000")) == ApiVersionsRequest(
        client_software_name="kw", client_software_version="1"
    )


def test_long_compact_strings_and_arrays() -> None:
    topics = [MetadataRequest.Topic(name="n" * size) for size in (126, 127, 128, 16383, 32767)] * 40
    message = MetadataRequest(topics=topics)
    assert protocol.decode(MetadataRequest, 9, protocol.encode(message, 9)) == message
    partition = MetadataResponse.Topic.Partition(
        replica_nodes=list(range(500)), isr_nodes=list(range(127)), offline_replicas=[]
    )
    answer = MetadataResponse(topics=[MetadataResponse.Topic(name="t", partitions=[partition])])
    assert protocol.decode(MetadataResponse, 9, protocol.encode(answer, 9)) == answer


UNFIT: list[tuple[Any, int, str]] = [
    (MetadataRequest(topics=None), 0, "topics is None, which only versions 1"),
    (MetadataRequest(topics=[MetadataRequest.Topic(name=None)]), 9, r"topics\[0\].name is None"),
    (MetadataRequest(allow_auto_topic_creation=False), 3, r"allow_auto_topic_creation is False, but only versions 4\+ have"),
    (MetadataRequest(include_cluster_authorized_operations=True), 11, "include_cluster_authorized_operations is True"),
    (MetadataRequest(unknown_tags={1: b""}), 8, "no tagged fields"),
    (MetadataRequest(topics=[MetadataRequest.Topic(name="x" * 32768)]), 1, r"topics\[0\].name is 'x+"),
    (MetadataRequest(topics=[MetadataRequest.Topic(name="x" * 32768)]), 9, r"topics\[0\].name is 'x+"),
    (MetadataRequest(topics=[MetadataRequest.Topic(name="\ud800")]), 9, "not a valid string"),
    (MetadataRequest(topics=[MetadataRequest.Topic(name=b"bytes")]), 9, "not a valid string"),
    (MetadataRequest(topics=["name"]), 9, r"topics\[0\] is 'name', not a MetadataRequest.Topic"),
    (MetadataRequest(topics="name"), 9, "topics is 'name', not a list"),
    (MetadataRequest(topics=[MetadataRequest.Topic(topic_id=b"short", name="x")]), 10, "topic_id is b'short'.*valid uuid"),
    (ProduceRequest(acks=40000), 9, "acks is 40000, which is not a valid int16"),
    (ProduceRequest(acks=None), 9, "acks is None"),
    (ProduceRequest(acks="all"), 9, "acks is 'all'"),
    (ApiVersionsResponse(finalized_features_epoch=1, unknown_tags={1: b"?"}), 3, "tag 1"),
]


@pytest.mark.parametrize(("message", "version", "reason"), UNFIT, ids=lambda value: "")
def test_trap_21_22_values_that_do_not_fit_are_named(message: Message, version: int, reason: str) -> None:
    with pytest.raises(EncodeError, match=reason):
        protocol.encode(message, version)


@pytest.mark.parametrize("records", ["text", 17, [b"list"], None])
def test_records_are_bytes(records: Any) -> None:
    partition = ProduceRequest.TopicProduceData.PartitionProduceData(records=records)
    message = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[partition])])
    if records is None:
        assert protocol.decode(ProduceRequest, 9, protocol.encode(message, 9)) == message
    else:
        with pytest.raises(EncodeError, match="not a valid records"):
            protocol.encode(message, 9)


def test_trap_22_ignorable_fields_vanish_where_they_do_not_exist() -> None:
    message = FetchRequest(rack_id="here", session_epoch=5, topics=[FetchRequest.Topic(topic="t", topic_id=b"i" * 16)])
    decoded = protocol.decode(FetchRequest, 4, protocol.encode(message, 4))
    assert decoded == FetchRequest(topics=[FetchRequest.Topic(topic="t")])


def test_trap_18_a_tagged_struct_at_its_default_is_left_out() -> None:
    response = ProduceResponse.TopicProduceResponse.PartitionProduceResponse
    bodies = [
        protocol.encode(
            ProduceResponse(
                responses=[
                    ProduceResponse.TopicProduceResponse(
                        name="t", partition_responses=[response(index=1, current_leader=leader)]
                    )
                ]
            ),
            10,
        )
        for leader in (None, response.LeaderIdAndEpoch())
    ]
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_records_are_views_of_the_data_and_everything_else_is_not(wrap: Any) -> None:
    records = bytes(range(256)) * 100
    partition = FetchResponse.FetchableTopicResponse.PartitionData(records=records)
    message = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="töpic", partitions=[partition])])
    data = wrap(protocol.encode(message, 11))
    found = protocol.decode(FetchResponse, 11, data)
    view = found.responses[0].partitions[0].records
    assert isinstance(view, memoryview)
    assert view == records
    assert view.obj is (data.obj if wrap is memoryview else data)
    assert found.responses[0].topic == "töpic"


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_large_records_are_parts_of_their_own(wrap: Any) -> None:
    large = wrap(bytes(wire.BIG_RECORDS + 1))
    small = wrap(b"small")
    partitions = [
        ProduceRequest.TopicProduceData.PartitionProduceData(index=i, records=r) for i, r in enumerate((large, small, large))
    ]
    message = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=partitions)])
    for version in (3, 9):
        parts = protocol.encode_parts(message, version)
        assert len(parts) == 5
        assert parts[1] is large
        assert parts[3] is large
        assert b"".join(parts) == protocol.encode(message, version)


def test_records_in_a_memoryview_of_wider_items_are_measured_in_bytes() -> None:
    records = memoryview(bytes(64)).cast("q")
    partition = ProduceRequest.TopicProduceData.PartitionProduceData(records=records)
    message = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[partition])])
    decoded = protocol.decode(ProduceRequest, 3, protocol.encode(message, 3))
    assert decoded.topic_data[0].partition_data[0].records == bytes(64)


@pytest.mark.parametrize("version", [-1, 14, 99])
def test_versions_that_are_not_declared(version: int) -> None:
    with pytest.raises(UnsupportedVersionError, match="MetadataRequest is known in versions 0-13, not"):
        protocol.encode(MetadataRequest(), version)
    with pytest.raises(UnsupportedVersionError, match="MetadataResponse is known in versions 0-13, not"):
        protocol.decode(MetadataResponse, version, b"")


def test_plain_values_have_kafkas_names_and_forms() -> None:
    message = ProduceRequest(
        transactional_id=None,
        topic_data=[
            ProduceRequest.TopicProduceData(
                topic_id=bytes(range(16)),
                partition_data=[ProduceRequest.TopicProduceData.PartitionProduceData(index=1, records=memoryview(b"\xff\xfe"))],
            )
        ],
        unknown_tags={12: b"x"},
    )
    assert protocol.to_dict(message) == {
        "transactionalId": None,
        "acks": 0,
        "timeoutMs": 0,
        "topicData": [
            {"name": "", "topicId": "AAECAwQFBgcICQoLDA0ODw", "partitionData": [{"index": 1, "records": "//4="}]},
        ],
        "_unknownTaggedFields": {"12": "eA=="},
    }


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"topic": []}, "MetadataRequest has no field 'topic'; it has topics, allowAutoTopicCreation"),
        ({"topics": 5}, "MetadataRequest.topics: 5 has the wrong form"),
        ({"topics": [{"nme": "x"}]}, "MetadataRequest.Topic has no field 'nme'"),
        ({"topics": [{"topicId": "*"}]}, "MetadataRequest.Topic.topicId"),
        ({"topics": ["x"]}, r"MetadataRequest.topics: \['x'\] has the wrong form"),
    ],
)
def test_plain_values_of_the_wrong_form_are_named(values: dict[str, Any], reason: str) -> None:
    with pytest.raises(EncodeError, match=reason):
        protocol.from_dict(MetadataRequest, values)


def test_secrets_can_be_left_out_of_plain_values() -> None:
    altered = IncrementalAlterConfigsRequest.AlterConfigsResource
    message = IncrementalAlterConfigsRequest(
        resources=[altered(resource_name="r", configs=[altered.AlterableConfig(name="ssl.key.password", value="hidden")])]
    )
    (shown,) = protocol.to_dict(message, secrets=False)["resources"]
    assert shown["configs"] == [{"name": "ssl.key.password", "configOperation": 0, "value": "***"}]
    assert "hidden" in str(protocol.to_dict(message))
