"""Versions of every API that the two ends of a new connection have in common.

Pure: the flow that sends ApiVersions and survives brokers that close or hang on it is `core.cluster.connector`.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from kafkawire.errors import DecodeError, ErrorCode, UnsupportedVersionError, broker_error
from kafkawire.protocol.frames import decode_response
from kafkawire.protocol.messages.api_versions import ApiVersionsResponse
from kafkawire.protocol.schema import Request

__all__ = ["BEFORE_API_VERSIONS", "Ranges", "common_version", "read_api_versions"]

Ranges = Mapping[int, tuple[int, int]]
"""API key -> the lowest and the highest version that a broker speaks."""

BEFORE_API_VERSIONS: Ranges = MappingProxyType(
    {
        0: (0, 0),
        1: (0, 0),
        2: (0, 0),
        3: (0, 0),
        8: (0, 1),
        9: (0, 1),
        10: (0, 0),
    }
)
"""Versions of brokers without ApiVersions: 0.8.2 closes the connection on it, 0.9 never answers it."""

_API_VERSIONS = 18


def read_api_versions(frame: bytearray, version: int) -> Ranges | int:
    """The ranges in an answer to ApiVersions `version`, or the lower version to ask with next.

    A broker that lacks the version answers in the form of v0 with error 35 (KIP-511); not all of those bodies parse, so the
    error alone is enough to ask with a lower version (trap 5). Raises DecodeError for any other malformed answer, BrokerError
    for an error: REBOOTSTRAP_REQUIRED from another broker than the one meant (KIP-1242).
    """
    try:
        response = decode_response(ApiVersionsResponse, version, frame)
    except DecodeError:
        if version == 0 or int.from_bytes(frame[4:6], "big", signed=True) != ErrorCode.UNSUPPORTED_VERSION:
            raise
        return _downgrade(frame, version)
    if response.error_code == ErrorCode.UNSUPPORTED_VERSION and version > 0:
        return _downgrade(frame, version)
    if response.error_code == ErrorCode.UNSUPPORTED_VERSION:
        raise UnsupportedVersionError(f"the broker answered ApiVersions v{version} with UNSUPPORTED_VERSION")
    if response.error_code:
        raise broker_error(response.error_code, f"ApiVersions v{version}")
    return MappingProxyType({api.api_key: (api.min_version, api.max_version) for api in response.api_keys})


def _downgrade(frame: bytearray, version: int) -> int:
    try:
        offered = decode_response(ApiVersionsResponse, 0, frame).api_keys
    except DecodeError:
        return 0
    return next((min(api.max_version, version - 1) for api in offered if api.api_key == _API_VERSIONS), 0)


def common_version(request: type[Request], ranges: Ranges, highest: int | None = None) -> int:
    """The highest stable version of a request that both ends speak; raises UnsupportedVersionError.

    `highest` replaces the highest stable version: by a lower one, or by one that Kafka still works on (InitProducerId v6).
    Taking the highest also avoids the only minimum that is not true: 4.x advertises Produce from v0 for the sake of
    old clients and refuses v0 to v2 (KAFKA-18659, trap 8).
    """
    ours = request.stable
    if request.key not in ranges:
        raise UnsupportedVersionError(f"the broker does not offer {request.name} (API key {request.key})")
    lowest, best = ranges[request.key]
    wanted = ours.max if highest is None else min(request.versions.max, highest)
    version = min(wanted, best)
    if version < max(ours.min, lowest):
        raise UnsupportedVersionError(
            f"{request.name}: the broker speaks v{lowest} to v{best}, wanted is one of v{ours.min} to v{wanted}"
        )
    return version
