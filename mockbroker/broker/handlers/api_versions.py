"""ApiVersions 0-5: the APIs of the broker's profile that the mock serves, and the features of the profile.

The connection answers unsupported versions through `downgrade` (KIP-511). Features (KIP-584) are as the real broker has them
when it is new. The lists of a profile are made once: all responses share them, and nothing may change them. A client that
names another broker is sent back to its bootstrap servers (KIP-1242).
"""

from __future__ import annotations

import re
from functools import cache

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.broker.registry import advertised
from mockbroker.profiles import Profile

__all__ = ["downgrade", "handle"]


_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def handle(context: RequestContext, request: ApiVersionsRequest, now: float) -> Answer:
    if context.version >= 3:
        names = (request.client_software_name, request.client_software_version)
        if not all(map(_SOFTWARE.fullmatch, names)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        context.client.software_name, context.client.software_version = names
    mistake = _mistake(context, request)
    if mistake is not None:
        return ApiVersionsResponse(error_code=mistake)
    profile = context.cluster.profile
    return ApiVersionsResponse(
        error_code=context.injected.error if context.injected is not None else ErrorCode.NONE,
        api_keys=_api_keys(profile),
        # Older clients fail on a feature that can be at level 0 (KAFKA-17492).
        supported_features=_supported_features(profile, 0 if context.version >= 4 else 1),
        finalized_features_epoch=profile.finalized_features_epoch,
        finalized_features=_finalized_features(profile),
    )


def _mistake(context: RequestContext, request: ApiVersionsRequest) -> ErrorCode | None:
    """Error for a client that names another broker than this one, or names it incompletely."""
    if (request.cluster_id is None) != (request.node_id == -1):
        return ErrorCode.INVALID_REQUEST
    if request.cluster_id is None or (request.cluster_id, request.node_id) == (context.cluster.cluster_id, context.broker.id):
        return None
    return ErrorCode.REBOOTSTRAP_REQUIRED


def downgrade(profile: Profile) -> ApiVersionsResponse:
    """Response to a version that the broker does not know, to be sent in version 0 (KIP-511, trap 5)."""
    itself = [one for one in _api_keys(profile) if one.api_key == ApiVersionsRequest.key]
    listed = itself if profile.lists_itself_on_downgrade else []
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=listed)


@cache
def _api_keys(profile: Profile) -> list[ApiVersionsResponse.ApiVersion]:
    return [
        ApiVersionsResponse.ApiVersion(api_key=key, min_version=lowest, max_version=highest)
        for key, (lowest, highest) in advertised(profile).items()
    ]


@cache
def _supported_features(profile: Profile, least: int) -> list[ApiVersionsResponse.SupportedFeatureKey]:
    """Supported features whose lowest level is at least `least`."""
    return [
        ApiVersionsResponse.SupportedFeatureKey(name=name, min_version=lowest, max_version=highest)
        for name, (lowest, highest) in profile.supported_features.items()
        if lowest >= least
    ]


@cache
def _finalized_features(profile: Profile) -> list[ApiVersionsResponse.FinalizedFeatureKey]:
    return [
        ApiVersionsResponse.FinalizedFeatureKey(name=name, min_version_level=lowest, max_version_level=highest)
        for name, (lowest, highest) in profile.finalized_features.items()
    ]
