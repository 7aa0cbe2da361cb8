"""The APIs, one module each, declarations only; a module is loaded when one of its messages is first asked for."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any, Final

from kafkawire.protocol.schema import Request, Response

__all__ = ["API_KEYS", "module_name", "request", "response"]

API_KEYS: Final[dict[str, int]] = {
    "Produce": 0,
    "Fetch": 1,
    "ListOffsets": 2,
    "Metadata": 3,
    "OffsetCommit": 8,
    "OffsetFetch": 9,
    "FindCoordinator": 10,
    "JoinGroup": 11,
    "Heartbeat": 12,
    "LeaveGroup": 13,
    "SyncGroup": 14,
    "DescribeGroups": 15,
    "ListGroups": 16,
    "SaslHandshake": 17,
    "ApiVersions": 18,
    "CreateTopics": 19,
    "DeleteTopics": 20,
    "DeleteRecords": 21,
    "InitProducerId": 22,
    "OffsetForLeaderEpoch": 23,
    "AddPartitionsToTxn": 24,
    "AddOffsetsToTxn": 25,
    "EndTxn": 26,
    "WriteTxnMarkers": 27,
    "TxnOffsetCommit": 28,
    "DescribeAcls": 29,
    "CreateAcls": 30,
    "DeleteAcls": 31,
    "DescribeConfigs": 32,
    "AlterConfigs": 33,
    "AlterReplicaLogDirs": 34,
    "DescribeLogDirs": 35,
    "SaslAuthenticate": 36,
    "CreatePartitions": 37,
    "CreateDelegationToken": 38,
    "RenewDelegationToken": 39,
    "ExpireDelegationToken": 40,
    "DescribeDelegationToken": 41,
    "DeleteGroups": 42,
    "ElectLeaders": 43,
    "IncrementalAlterConfigs": 44,
    "AlterPartitionReassignments": 45,
    "ListPartitionReassignments": 46,
    "OffsetDelete": 47,
    "DescribeClientQuotas": 48,
    "AlterClientQuotas": 49,
    "DescribeUserScramCredentials": 50,
    "AlterUserScramCredentials": 51,
    "DescribeQuorum": 55,
    "UpdateFeatures": 57,
    "DescribeCluster": 60,
    "DescribeProducers": 61,
    "UnregisterBroker": 64,
    "DescribeTransactions": 65,
    "ListTransactions": 66,
    "ConsumerGroupHeartbeat": 68,
    "ConsumerGroupDescribe": 69,
    "GetTelemetrySubscriptions": 71,
    "PushTelemetry": 72,
    "ListConfigResources": 74,
    "DescribeTopicPartitions": 75,
    "ShareGroupHeartbeat": 76,
    "ShareGroupDescribe": 77,
    "ShareFetch": 78,
    "ShareAcknowledge": 79,
    "AddRaftVoter": 80,
    "RemoveRaftVoter": 81,
    "StreamsGroupHeartbeat": 88,
    "StreamsGroupDescribe": 89,
    "DescribeShareGroupOffsets": 90,
    "AlterShareGroupOffsets": 91,
    "DeleteShareGroupOffsets": 92,
    "StreamsGroupTopologyDescriptionUpdate": 93,
    "UnregisterController": 94,
}
"""API names as Kafka spells them, and their keys."""

_NAMES: Final = {key: name for name, key in API_KEYS.items()}


def module_name(api: str) -> str:
    """The module of an API: its name in snake_case."""
    return "".join("_" + c.lower() if c.isupper() else c for c in api).lstrip("_")


@cache
def request(api: int | str) -> type[Request]:
    """The request class of an API, by key or name. Raises KeyError for one that is not declared."""
    found: type[Request] = _load(api, "Request")
    return found


@cache
def response(api: int | str) -> type[Response]:
    """The response class of an API, by key or name. Raises KeyError for one that is not declared."""
    found: type[Response] = _load(api, "Response")
    return found


def _load(api: int | str, kind: str) -> Any:
    name = _NAMES[api] if isinstance(api, int) else api
    if name not in API_KEYS:
        raise KeyError(api)
    return getattr(import_module(f"kafkawire.protocol.messages.{module_name(name)}"), name + kind)
