"""Version profiles: what is advertised, and what happens to what is not."""

from __future__ import annotations

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker.handlers import HANDLERS
from mockbroker.profiles import profile
from tests.mockbroker.raw import MemoryMock, batch, produce_request

RELEASES = ["0.8.2", "0.9", "0.10.0", "0.10.2", "0.11", "1.1", "2.1", "2.4", "2.8", "3.9", "4.0", "4.3"]


def request_bytes(api_key, version, *, correlation_id=7, body=b"", flexible=False):
    header = api_key.to_bytes(2, "big") + version.to_bytes(2, "big") + correlation_id.to_bytes(4, "big")
    frame = header + b"\0\3raw" + (b"\0" if flexible else b"") + body
    return len(frame).to_bytes(4, "big") + frame


@pytest.mark.parametrize("release", RELEASES)
def test_only_what_is_served_is_advertised(release):
    assert set(profile(release).advertised) <= set(HANDLERS)
    for key, (lowest, highest) in profile(release).advertised.items():
        versions = HANDLERS[key].request.versions
        assert lowest in versions
        assert highest in versions


def test_the_newest_profile_has_every_api():
    assert set(profile("4.3").advertised) == set(HANDLERS)


@pytest.mark.parametrize("release", RELEASES[2:])
def test_api_versions(release):
    mock = MemoryMock(version=release)
    client = mock.client()
    for version in range(profile(release).advertised[18][1] + 1):
        request = ApiVersionsRequest(client_software_name="raw-client", client_software_version="1.0")
        response = client.call(request, version)
        assert response.error_code == 0
        ranges = {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}
        assert ranges == profile(release).advertised
        assert list(ranges) == sorted(ranges)


def test_software_names_are_checked_and_kept():
    mock = MemoryMock()
    client = mock.client()
    client.call(ApiVersionsRequest(client_software_name="apache-kafka.java", client_software_version="4.3.1"), 3)
    (exchange,) = mock.cluster.journal.requests()
    assert (exchange.client.software_name, exchange.client.software_version) == ("apache-kafka.java", "4.3.1")
    for name in ("", "-x", "a b"):
        request = ApiVersionsRequest(client_software_name=name, client_software_version="1")
        assert client.call(request, 3).error_code == ErrorCode.INVALID_REQUEST


# Correlation id 7, then a body of version 0: error 35, the count as int32, key 18 with its versions; no tags, no throttle time.
@pytest.mark.parametrize(
    ("release", "answer"),
    [
        ("0.10.2", "0000000a 00000007 0023 00000000"),
        ("1.1", "0000000a 00000007 0023 00000000"),
        ("2.4", "00000010 00000007 0023 00000001 0012 0000 0003"),
        ("4.3", "00000010 00000007 0023 00000001 0012 0000 0004"),
    ],
)
def test_trap_5_an_unknown_version_of_api_versions_is_answered_in_version_0(release, answer):
    request = request_bytes(18, 99, flexible=True, body=b"\x02x\x02x\0")
    assert MemoryMock(version=release).answer(request) == (bytes.fromhex(answer), False)


@pytest.mark.parametrize(("api_key", "version"), [(11, 0), (3, 99), (0, 2), (1, 3), (999, 0), (-1 & 0xFFFF, 0)])
def test_what_is_not_served_closes_the_connection(api_key, version):
    assert MemoryMock().answer(request_bytes(api_key, version)) == (b"", True)


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
    ("text", "version"), [("4.3.1", (4, 3)), ("3.6", (3, 5)), ("0.10.2.2", (0, 10, 2)), ("0.8.2.2", (0, 8, 2))]
)
def test_patch_releases_and_gaps_in_the_table(text, version):
    assert profile(text).version == version


@pytest.mark.parametrize("text", ["0.8.1", "0.7", "4.4", "5.0", "latest", ""])
def test_unknown_releases(text):
    with pytest.raises(ValueError, match="Kafka"):
        profile(text)
