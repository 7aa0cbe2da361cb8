"""UpdateFeatures: raise or lower the finalized version of features (KIP-584).

Version 1 has three kinds of update and a dry run (KIP-778), version 2 one result for all features.
"""

from kafkawire.protocol.schema import Request, Response, Struct, field
from kafkawire.protocol.wire import Bool, Int8, Int16, Int32, String

__all__ = ["UpdateFeaturesRequest", "UpdateFeaturesResponse"]


class UpdateFeaturesRequest(Request, key=57, versions="0-2", flexible="0+"):
    class FeatureUpdateKey(Struct):
        feature: String = field()
        max_version_level: Int16 = field()
        allow_downgrade: Bool = field("0")
        upgrade_type: Int8 = field("1+", default=1)

    timeout_ms: Int32 = field(default=60000)
    feature_updates: list[FeatureUpdateKey] = field()
    validate_only: Bool = field("1+")


class UpdateFeaturesResponse(Response, key=57, versions="0-2", flexible="0+"):
    class UpdatableFeatureResult(Struct):
        feature: String = field()
        error_code: Int16 = field()
        error_message: String | None = field(nullable="0+")

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: String | None = field(nullable="0+")
    results: list[UpdatableFeatureResult] = field("0-1", ignorable=True)
