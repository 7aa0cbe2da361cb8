"""Targets of every kind in a small cluster, and for each kind an API whose brokers refuse requests that are not for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kafkawire.core.cluster.targets import AnyBroker, Controller, Coordinator, CoordinatorKind, Leader, OneBroker, Target
from kafkawire.message import TopicPartition
from kafkawire.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsResponse
from kafkawire.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kafkawire.protocol.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from kafkawire.protocol.schema import Request

__all__ = ["APIS", "BROKERS", "GROUPS", "KINDS", "LEADERS", "MOST_PARTITIONS", "Api"]

BROKERS = (1, 2, 3)
TOPICS = ("t", "u")
MOST_PARTITIONS = 6
"""Most partitions that each topic has."""

LEADERS = [Leader(TopicPartition(topic, index)) for topic in TOPICS for index in range(MOST_PARTITIONS)]
GROUPS = [Coordinator(CoordinatorKind.GROUP, f"group-{number}") for number in range(4)]
KINDS: Sequence[Sequence[Target]] = (LEADERS, GROUPS, [Controller()], [AnyBroker()], [OneBroker(broker) for broker in BROKERS])


@dataclass(frozen=True)
class Api:
    """Name of an API, its request about some targets, and the error code of each target in its response."""

    name: str
    request: Callable[[Sequence[Any]], Request]
    codes: Callable[[Any, Sequence[Target]], Mapping[Any, int]]


def _offsets_request(targets: Sequence[Leader]) -> ListOffsetsRequest:
    topics = {to.partition.topic: ListOffsetsRequest.Topic(name=to.partition.topic) for to in targets}
    for to in targets:
        partition = ListOffsetsRequest.Topic.Partition(partition_index=to.partition.partition, timestamp=-1)
        topics[to.partition.topic].partitions.append(partition)
    return ListOffsetsRequest(replica_id=-1, topics=list(topics.values()))


def _offsets_codes(response: ListOffsetsResponse, _targets: Sequence[Target]) -> dict[Any, int]:
    return {
        Leader(TopicPartition(topic.name, each.partition_index)): each.error_code
        for topic in response.topics
        for each in topic.partitions
    }


def _groups_request(targets: Sequence[Coordinator]) -> DescribeGroupsRequest:
    return DescribeGroupsRequest(groups=[to.key for to in targets])


def _groups_codes(response: DescribeGroupsResponse, _targets: Sequence[Target]) -> dict[Any, int]:
    return {Coordinator(CoordinatorKind.GROUP, each.group_id): each.error_code for each in response.groups}


def _partitions_request(_targets: Sequence[Target]) -> CreatePartitionsRequest:
    more = CreatePartitionsRequest.Topic(name="t", count=2 * MOST_PARTITIONS, assignments=None)
    return CreatePartitionsRequest(topics=[more], timeout_ms=1_000, validate_only=True)


def _partitions_codes(response: CreatePartitionsResponse, targets: Sequence[Target]) -> dict[Any, int]:
    return dict.fromkeys(targets, response.results[0].error_code)


def _list_request(_targets: Sequence[Target]) -> ListGroupsRequest:
    return ListGroupsRequest()


def _list_codes(response: ListGroupsResponse, targets: Sequence[Target]) -> dict[Any, int]:
    return dict.fromkeys(targets, response.error_code)


_LIST = Api("ListGroups", _list_request, _list_codes)
APIS: Mapping[type[Target], Api] = {
    Leader: Api("ListOffsets", _offsets_request, _offsets_codes),
    Coordinator: Api("DescribeGroups", _groups_request, _groups_codes),
    Controller: Api("CreatePartitions", _partitions_request, _partitions_codes),
    AnyBroker: _LIST,
    OneBroker: _LIST,
}
