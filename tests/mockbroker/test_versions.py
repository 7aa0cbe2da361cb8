"""Version profiles: what is advertised, and what happens to what is not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mockbroker.profiles
from kafkawire import protocol
from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages import API_KEYS
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker.broker.registry import SERVED, advertised
from mockbroker.profiles import LATEST, profile
from tests.mockbroker.raw import MemoryMock, batch, produce_request
from tests.real.record_profiles import data_file
from tests.real.releases import RELEASES

FILES = sorted(Path(mockbroker.profiles.__file__).parent.glob("*.json"), key=lambda path: profile(path.stem).version)
VERSIONS = [path.stem for path in FILES]
WITH_API_VERSIONS = [version for version in VERSIONS if profile(version).version >= (0, 10)]

every_version = pytest.mark.parametrize("version", VERSIONS)


def request_bytes(api_key, version, *, correlation_id=7, body=b"", flexible=False):
    header = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + correlation_id.to_bytes(4, "big")
    frame = header + b"\0\3raw" + (b"\0" if flexible else b"") + body
    return len(frame).to_bytes(4, "big") + frame


def recorded(version):
    """Versions that the real broker listed: API key -> lowest and highest version."""
    (path,) = (path for path in FILES if path.stem == version)
    return {key: (lowest, highest) for key, _name, lowest, highest in json.loads(path.read_text())["apis"]}


def test_every_release_that_can_be_started_is_recorded():
    assert {data_file(release) for release in RELEASES} == set(FILES)
    assert VERSIONS[-1] == LATEST


@every_version
def test_what_is_recorded_and_has_a_handler_is_advertised_and_nothing_else(version):
    listed = advertised(profile(version))
    expected = {(key, number) for key, (lowest, highest) in recorded(version).items() for number in range(lowest, highest + 1)}
    expected = {(key, number) for key, number in expected if key in SERVED}
    assert all(number in protocol.request(key).versions for key, number in expected)
    assert {(key, number) for key, (low, high) in listed.items() for number in range(low, high + 1)} == expected


def test_the_newest_profile_has_every_api():
    assert set(advertised(profile(LATEST))) == set(SERVED)


@pytest.mark.parametrize(
    ("version", "ranges"),
    [
        ("0.8.2", {"Produce": (0, 0), "Fetch": (0, 0), "OffsetCommit": (0, 1), "OffsetFetch": (0, 1), "JoinGroup": None}),
        ("0.9", {"Produce": (0, 1), "Fetch": (0, 1), "OffsetCommit": (0, 2), "JoinGroup": (0, 0), "ApiVersions": None}),
        ("0.10.0", {"Produce": (0, 2), "Fetch": (0, 2), "ApiVersions": (0, 0), "CreateTopics": None}),
        ("2.8", {"Produce": (0, 9), "Fetch": (0, 12), "Metadata": (0, 11), "ApiVersions": (0, 3)}),
        ("4.0", {"Produce": (0, 12), "Fetch": (4, 17), "ListOffsets": (1, 10), "ApiVersions": (0, 4), "CreateTopics": (2, 7)}),
        ("4.3", {"Produce": (0, 13), "Fetch": (4, 18), "Metadata": (0, 13), "OffsetFetch": (1, 10)}),
        ("4.4", {"Produce": (0, 13), "ApiVersions": (0, 5), "DeleteGroups": (0, 3)}),
    ],
)
def test_ranges_that_are_well_known(version, ranges):
    """With the minimums that Kafka 4.0 set (KIP-896)."""
    listed = advertised(profile(version))
    assert {name: listed.get(API_KEYS[name]) for name in ranges} == ranges


@pytest.mark.parametrize("version", WITH_API_VERSIONS)
def test_api_versions(version):
    client = MemoryMock(version=version).client()
    for number in range(advertised(profile(version))[18][1] + 1):
        request = ApiVersionsRequest(client_software_name="raw-client", client_software_version="1.0")
        response = client.call(request, number)
        assert response.error_code == 0
        ranges = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
        assert ranges == advertised(profile(version))
        assert list(ranges) == sorted(ranges)


@pytest.mark.parametrize(
    ("version", "number", "epoch", "supported", "finalized"),
    [
        ("2.6", 3, -1, {}, {}),
        ("2.8", 3, 0, {}, {}),
        ("3.9", 3, 0, {"metadata.version": (1, 21)}, {"metadata.version": 21}),
        ("3.9", 4, 0, {"kraft.version": (0, 1), "metadata.version": (1, 21)}, {"metadata.version": 21}),
    ],
)
def test_features(version, number, epoch, supported, finalized):
    """Before v4, those that may be at level 0 are left out (KAFKA-17492)."""
    request = ApiVersionsRequest(client_software_name="raw-client", client_software_version="1.0")
    response = MemoryMock(version=version).client().call(request, number)
    assert response.finalized_features_epoch == epoch
    assert {each.name: (each.min_version, each.max_version) for each in response.supported_features} == supported
    assert {each.name: each.max_version_level for each in response.finalized_features} == finalized


def test_software_names_are_checked_and_kept():
    mock = MemoryMock()
    client = mock.client()
    client.call(ApiVersionsRequest(client_software_name="apache-kafka.java", client_software_version="4.3.1"), 3)
    (exchange,) = mock.journal.requests()
    assert (exchange.client.software_name, exchange.client.software_version) == ("apache-kafka.java", "4.3.1")
    for name in ("", "-x", "a b"):
        request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
        assert client.call(request, 3).error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("cluster_id", "node_id", "error"),
    [
        (None, -1, ErrorCode.NONE),
        ("this one", 1, ErrorCode.NONE),
        ("another", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("this one", 2, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("", 1, ErrorCode.REBOOTSTRAP_REQUIRED),
        ("this one", -1, ErrorCode.INVALID_REQUEST),
        (None, 1, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_client_that_believes_to_talk_to_another_broker_is_told(cluster_id, node_id, error):
    """KIP-1242; that real brokers do the same, tests/interop/test_mock_parity_topics.py asks them."""
    mock = MemoryMock(2)
    request = ApiVersionsRequest(client_software_name="raw-client", client_software_version="1.0", node_id=node_id)
    request.cluster_id = mock.cluster.cluster_id if cluster_id == "this one" else cluster_id
    response = mock.client().call(request, 5)
    assert response.error_code == error
    assert bool(response.api_keys) is (error == ErrorCode.NONE)


# Correlation id 7, then a body of version 0: error 35, the count as int32, key 18 with its versions; no tags, no throttle time.
NOTHING_LISTED = "0000000a 00000007 0023 00000000"
LISTS_ITSELF = "00000010 00000007 0023 00000001 0012 0000 {:04x}"


@pytest.mark.parametrize("version", WITH_API_VERSIONS)
def test_trap_5_an_unknown_version_of_api_versions_is_answered_in_version_0(version):
    answer = LISTS_ITSELF.format(recorded(version)[18][1]) if profile(version).version >= (2, 4) else NOTHING_LISTED
    request = request_bytes(18, 99, flexible=True, body=b"\x02x\x02x\0")
    assert MemoryMock(version=version).answer(request) == (bytes.fromhex(answer), False)


@every_version
def test_what_is_not_served_closes_the_connection_but_hangs_on_0_9(version):
    mock = MemoryMock(version=version)
    listed = advertised(profile(version))
    unserved = [(key, 0) for key in (999, 18, *SERVED) if key not in listed]
    unserved += [(key, highest + 1) for key, (_, highest) in listed.items() if key != 18]
    unserved += [(key, lowest - 1) for key, (lowest, _) in listed.items() if lowest > 0]
    for api_key, number in unserved:
        assert mock.answer(request_bytes(api_key, number, flexible=True)) == (b"", version != "0.9.0")


def test_a_negative_api_key_closes_the_connection():
    assert MemoryMock().answer(request_bytes(0xFFFF, 0)) == (b"", True)


def test_trap_8_produce_is_advertised_from_0_but_refused_before_3():
    client = MemoryMock(topics={"t": 1}).client()
    ranges = {api.api_key: api.min_version for api in client.call(ApiVersionsRequest(), 0).api_keys}
    assert ranges[0] == 0
    client.send(produce_request(batch(b"a")), 2)
    assert client.closed


def test_trap_6_kafka_0_8_closes_on_api_versions():
    client = MemoryMock(version="0.8.2").client()
    client.send(ApiVersionsRequest(), 0)
    assert client.closed


def test_trap_6_kafka_0_9_hangs_on_api_versions():
    mock = MemoryMock(version="0.9", topics={"t": 1})
    client = mock.client()
    pending = client.send(ApiVersionsRequest(), 0)
    behind = client.send(MetadataRequest(topics=[]), 0)
    mock.clock.advance(3600)
    assert (pending.done, behind.done, client.closed) == (False, False, False)
    assert mock.client().call(MetadataRequest(topics=[]), 0).topics[0].name == "t"


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("4.4.0", (4, 4)),
        ("4.3.1", (4, 3)),
        ("3.6", (3, 6)),
        ("2.0.1", (2, 0)),
        ("0.11", (0, 11, 0)),
        ("0.10.2.2", (0, 10, 2)),
        ("0.10", (0, 10, 0)),
        ("0.9", (0, 9, 0)),
        ("0.8.2.2", (0, 8, 2)),
    ],
)
def test_versions_and_patch_releases(text, version):
    assert profile(text).version == version


@pytest.mark.parametrize("text", ["0.8.1", "0.7", "4.5", "5.0", "latest", ""])
def test_unknown_versions(text):
    with pytest.raises(ValueError, match="Kafka"):
        profile(text)
