"""DescribeLogDirs 0-5: the sizes of partitions, in the one log directory that each broker claims to have."""

from __future__ import annotations

from collections.abc import Iterator

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from mockbroker.broker.answers import Answer
from mockbroker.broker.context import RequestContext
from mockbroker.state.topics import Partition, Topic

__all__ = ["handle"]


_Directory = DescribeLogDirsResponse.Result
_DISK_SIZE = 1 << 40
"""Size of the disk in bytes, all of them free."""


def handle(context: RequestContext, request: DescribeLogDirsRequest, now: float) -> Answer:
    if context.injected is not None:
        return DescribeLogDirsResponse(error_code=context.injected.error)
    topics = []
    for topic, wanted in _wanted(context, request):
        kept = [partition for partition in wanted if context.broker.id in partition.replicas]
        if kept:
            topics.append(_Directory.Topic(name=topic.name, partitions=[_partition(partition) for partition in kept]))
    directory = _Directory(
        log_dir=context.cluster.config["log.dir"], topics=topics, total_bytes=_DISK_SIZE, usable_bytes=_DISK_SIZE
    )
    return DescribeLogDirsResponse(results=[directory])


def _wanted(context: RequestContext, request: DescribeLogDirsRequest) -> Iterator[tuple[Topic, list[Partition]]]:
    """All partitions of all topics, or the partitions of the request that exist."""
    if request.topics is None:
        for topic in context.cluster.topics.values():
            yield topic, topic.partitions
        return
    for asked in request.topics:
        found = context.cluster.find_topic(asked.topic)
        if not isinstance(found, ErrorCode):
            yield found, [partition for partition in found.partitions if partition.index in asked.partitions]


def _partition(partition: Partition) -> _Directory.Topic.Partition:
    return _Directory.Topic.Partition(
        partition_index=partition.index, partition_size=partition.log.size, offset_lag=0, is_future_key=False
    )
