"""Plan of a batch read, made on the driver: asks the cluster once for the partitions and their offsets."""

from __future__ import annotations

from collections.abc import Mapping

from kafkawire import Connection, Consumer
from kafkawire.errors import ConfigurationError
from kafkawire.message import TopicPartition
from kafkawire.spark.offsets import EARLIEST, LATEST, Bound, check_kept
from kafkawire.spark.options import ReadOptions, Subscription
from kafkawire.spark.properties import split_options
from kafkawire.spark.ranges import OffsetRange, divide

__all__ = ["plan"]

Offsets = Mapping[TopicPartition, int]

_INTERNAL = {"__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata"}
"""Topics that subscribePattern passes over."""


def plan(options: ReadOptions) -> list[OffsetRange]:
    """The ranges of a read, one for each task.

    Raises UnknownTopicError, OffsetOutOfRangeError (asked for records that are gone or not there yet), ConfigurationError
    (offsets that do not name the partitions read, a time later than all records) or what the client raises.
    """
    shared, own = split_options(options.client)
    with Connection(**shared) as connection, Consumer(connection=connection, **own) as consumer:
        partitions = find_partitions(connection, options.subscription)
        first, end = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
        starts = _resolve(consumer, options.starting, first, end, must_match=not options.latest_if_no_time_matches)
        stops = _resolve(consumer, options.ending, first, end, must_match=False)
    ranges = [OffsetRange(tp, starts[tp], stops[tp]) for tp in partitions]
    return divide(ranges, min_partitions=options.min_partitions, max_records=options.max_records)


def find_partitions(connection: Connection, subscription: Subscription) -> list[TopicPartition]:
    """The partitions of a subscription. Raises UnknownTopicError for a topic that does not exist."""
    if subscription.partitions:
        return list(subscription.partitions)
    topics = subscription.topics
    if subscription.pattern is not None:
        # The pattern may match anywhere in the name, as in the JVM connector.
        topics = tuple(name for name in connection.topics() if subscription.pattern.search(name) and name not in _INTERNAL)
    return [TopicPartition(topic, each.index) for topic in topics for each in connection.partitions(topic)]


def _resolve(consumer: Consumer, bound: Bound, first: Offsets, end: Offsets, *, must_match: bool) -> Offsets:
    """A bound as one offset for each partition."""
    wanted = bound.each(first)
    if bound.is_time:
        return _resolve_times(consumer, bound.option, wanted, end, must_match=must_match)
    stand_ins: dict[int, Offsets] = {EARLIEST: first, LATEST: end}
    offsets = {tp: stand_ins[offset][tp] if offset in stand_ins else offset for tp, offset in wanted.items()}
    check_kept(bound.option, offsets, first, end)
    return offsets


def _resolve_times(consumer: Consumer, option: str, times: Offsets, end: Offsets, *, must_match: bool) -> Offsets:
    """The first offset at or after a time; the partition's end where all records are older, unless one must match."""
    found = consumer.offsets_for_times(dict(times.items()))
    offsets = {}
    for tp, time in times.items():
        match = found[tp]
        if match is None and must_match:
            raise ConfigurationError(
                f"{option}: {tp.topic} partition {tp.partition} has no record at or after {time} ms;"
                " startingOffsetsByTimestampStrategy=latest would start at its end"
            )
        offsets[tp] = end[tp] if match is None else min(match.offset, end[tp])
    return offsets
