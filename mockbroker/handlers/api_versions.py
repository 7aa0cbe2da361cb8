"""ApiVersions 0-4: what the profile of this version advertises, which is what the mock serves.

The connection answers unsupported versions through `downgrade` (KIP-511). Left out: features (KIP-584).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker.call import Answer, Call
from mockbroker.profiles import Profile

__all__ = ["REQUEST", "downgrade", "handle"]

REQUEST = ApiVersionsRequest

_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?")


def handle(call: Call, request: ApiVersionsRequest, now: float) -> Answer:
    if call.version >= 3:
        names = (request.client_software_name, request.client_software_version)
        if not all(map(_SOFTWARE.fullmatch, names)):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        call.client.software_name, call.client.software_version = names
    error = call.injected.error if call.injected is not None else ErrorCode.NONE
    return ApiVersionsResponse(error_code=error, api_keys=_listed(call.cluster.profile, call.cluster.profile.advertised))


def downgrade(profile: Profile) -> ApiVersionsResponse:
    """The answer to a version that the broker does not know, to be sent in version 0 (KIP-511, trap 5)."""
    keys = [REQUEST.key] if profile.lists_itself_on_downgrade else []
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=_listed(profile, keys))


def _listed(profile: Profile, keys: Iterable[int]) -> list[ApiVersionsResponse.ApiVersion]:
    return [
        ApiVersionsResponse.ApiVersion(
            api_key=key, min_version=profile.advertised[key][0], max_version=profile.advertised[key][1]
        )
        for key in keys
    ]
