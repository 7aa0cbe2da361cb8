"""ApiVersions: the versions that a broker speaks, and its features (KIP-584).

Version 5 names the broker that the client means to reach, by cluster id and node id or not at all: one without the other is
INVALID_REQUEST. Another broker answers REBOOTSTRAP_REQUIRED (KIP-1242).
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int16, Int32, Int64, String

__all__ = ["ApiVersionsRequest", "ApiVersionsResponse"]


class ApiVersionsRequest(Request, key=18, versions="0-5", flexible="3+"):
    client_software_name: String = field("3+", ignorable=True)
    client_software_version: String = field("3+", ignorable=True)
    cluster_id: String | None = field("5+", default=None, nullable="5+", ignorable=True)
    node_id: Int32 = field("5+", default=-1, ignorable=True)


class ApiVersionsResponse(Response, key=18, versions="0-5", flexible="3+"):
    class ApiVersion(Struct):
        api_key: Int16 = field()
        min_version: Int16 = field()
        max_version: Int16 = field()

    class SupportedFeatureKey(Struct):
        name: String = field()
        min_version: Int16 = field()
        max_version: Int16 = field()

    class FinalizedFeatureKey(Struct):
        name: String = field()
        max_version_level: Int16 = field()
        min_version_level: Int16 = field()

    error_code: Int16 = field()
    api_keys: list[ApiVersion] = field()
    throttle_time_ms: Int32 = field("1+", ignorable=True)
    supported_features: list[SupportedFeatureKey] = field("3+", tag=0, ignorable=True)
    finalized_features_epoch: Int64 = field("3+", default=-1, tag=1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = field("3+", tag=2, ignorable=True)
    zk_migration_ready: Bool = field("3+", tag=3, ignorable=True)
