"""The handshake: reading ApiVersions answers, and choosing a version that the broker offers."""

from __future__ import annotations

import pytest

from kafkawire import protocol
from kafkawire.errors import BrokerError, DecodeError, ErrorCode, UnsupportedVersionError
from kafkawire.protocol.handshake import common_version, read_api_versions
from kafkawire.protocol.messages.produce import ProduceRequest


def test_versions_that_kafka_still_works_on_are_spoken_only_when_asked_for() -> None:
    """A broker offers them with `unstable.api.versions.enable`."""
    request = protocol.request("InitProducerId")
    assert common_version(request, {22: (0, 6)}) == 5
    assert common_version(request, {22: (0, 6)}, 6) == 6
    assert common_version(request, {22: (0, 6)}, 4) == 4
    assert common_version(request, {22: (0, 4)}, 6) == 4


@pytest.mark.parametrize("highest", [None, 0, 1])
def test_early_access_is_not_chosen(highest: int | None) -> None:
    request = protocol.request("ShareFetch")
    assert common_version(request, {78: (1, 2)}) == common_version(request, {78: (0, 9)}) == 2
    with pytest.raises(UnsupportedVersionError, match="ShareFetch: the broker speaks v0 to v0"):
        common_version(request, {78: (0, 0)}, highest)


def test_trap_8_versions_in_common():
    assert common_version(ProduceRequest, {0: (0, 7)}) == 7
    assert common_version(ProduceRequest, {0: (0, 99)}) == ProduceRequest.versions.max
    assert common_version(ProduceRequest, {0: (0, 99)}, 12) == 12
    for ranges in ({}, {0: (90, 99)}):
        with pytest.raises(UnsupportedVersionError, match="Produce"):
            common_version(ProduceRequest, ranges)


HEADER = b"\0\0\0\1"


@pytest.mark.parametrize(
    ("body", "version", "next_version"),
    [
        (b"\0\x23\0\0\0\1\0\x12\0\0\0\3", 4, 3),  # as Kafka answers: in the form of v0, with what it offers
        (b"\0\x23\0\0\0\1\0\x12\0\0\0\4", 4, 3),  # never the same again
        (b"\0\x23\0\0\0\0", 4, 0),
        (b"\0\x23\1\0\0\0\0\0", 4, 0),  # librdkafka's mock: a compact array
        (b"\0\x23", 4, 0),
    ],
)
def test_trap_5_a_version_of_api_versions_that_is_too_new(body, version, next_version):
    assert read_api_versions(bytearray(HEADER + body), version) == next_version


def test_other_answers_are_errors():
    with pytest.raises(DecodeError):
        read_api_versions(bytearray(HEADER + b"\0\0\0"), 0)
    with pytest.raises(UnsupportedVersionError, match="UNSUPPORTED_VERSION"):
        read_api_versions(bytearray(HEADER + b"\0\x23\0\0\0\0"), 0)
    with pytest.raises(BrokerError, match="REBOOTSTRAP_REQUIRED") as caught:
        read_api_versions(bytearray(HEADER + b"\0\x81\1\0\0\0\0\0"), 5)
    assert caught.value.error is ErrorCode.REBOOTSTRAP_REQUIRED
