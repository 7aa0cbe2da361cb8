"""Calls of the blocking and the asyncio Consumer that ask for positions, offsets and topics, documented for both."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kafkawire._clients.arguments import SomePartition
from kafkawire._clients.connection import ConnectedBase
from kafkawire.message import TopicPartition

__all__ = ["OffsetQueriesBase"]


class OffsetQueriesBase(ConnectedBase):
    """Declares the calls that look something up; each kind of Consumer implements them."""

    def position(self, tp: SomePartition, *, timeout: float | None = None) -> Any:
        """Return the offset of the next record of a partition that `poll` returns.

        Args:
            tp: The partition, a TopicPartition or a pair of a topic and a number.
            timeout: Seconds to look up a position that is not known yet; default_api_timeout_ms if None.

        Returns:
            int: The offset.

        Raises:
            ConfigurationError: The partition is not read.
            UnknownTopicError: There is no such topic.
            TimedOut: The position was not found in time.
            ConcurrentUseError: Another thread or task is using the consumer.
            ClosedError: The consumer is closed.

        Example:
            >>> consumer.position(("flights", 0), timeout=10)
            0
        """
        raise NotImplementedError

    def beginning_offsets(self, partitions: Iterable[SomePartition], *, timeout: float | None = None) -> Any:
        """Ask the leaders for the first offset that each partition still has.

        Args:
            partitions: TopicPartitions, or pairs of a topic and a number.
            timeout: Seconds; default_api_timeout_ms if None.

        Returns:
            dict[TopicPartition, int]: The first offset of each partition.

        Raises:
            UnknownTopicError: There is no such topic or partition.
            BrokerError: A broker refuses the request.
            NetworkError: A leader could not be reached in time.
            TimedOut: A leader did not answer in time.
            ClosedError: The consumer is closed.

        Example:
            >>> consumer.beginning_offsets([("flights", 0)], timeout=10)
            {TopicPartition(topic='flights', partition=0): 0}
        """
        raise NotImplementedError

    def end_offsets(self, partitions: Iterable[SomePartition], *, timeout: float | None = None) -> Any:
        """Ask the leaders for the offset that the next record of each partition will get.

        Args:
            partitions: TopicPartitions, or pairs of a topic and a number.
            timeout: Seconds; default_api_timeout_ms if None.

        Returns:
            dict[TopicPartition, int]: The end of each partition.

        Raises:
            UnknownTopicError: There is no such topic or partition.
            BrokerError: A broker refuses the request.
            NetworkError: A leader could not be reached in time.
            TimedOut: A leader did not answer in time.
            ClosedError: The consumer is closed.

        Example:
            >>> consumer.end_offsets([("flights", 0)], timeout=10)
            {TopicPartition(topic='flights', partition=0): 2}
        """
        raise NotImplementedError

    def offsets_for_times(
        self, times: Mapping[TopicPartition, int] | Mapping[tuple[str, int], int], *, timeout: float | None = None
    ) -> Any:
        """Ask the leaders for the first record at or after a time in each partition.

        Args:
            times: TopicPartitions, or pairs of a topic and a number -> milliseconds since the epoch.
            timeout: Seconds; default_api_timeout_ms if None.

        Returns:
            dict[TopicPartition, Found | None]: Offset and timestamp (in milliseconds) of each record; None if there is none.

        Raises:
            UnknownTopicError: There is no such topic or partition.
            UnsupportedVersionError: The broker is older than 0.10.1.
            ConfigurationError: A key is not a partition, or a time is out of range.
            TypeError: The argument is not a mapping.
            NetworkError: A leader could not be reached in time.
            TimedOut: A leader did not answer in time.
            ClosedError: The consumer is closed.

        Example:
            >>> consumer.offsets_for_times({("flights", 0): 1_700_000_000_500}, timeout=10)
            {TopicPartition(topic='flights', partition=0): Found(offset=1, timestamp=1700000001000)}
        """
        raise NotImplementedError

    def lag(self, *, timeout: float | None = None) -> Any:
        """Return the distance from the position to the end of each partition that is read.

        Args:
            timeout: Seconds; default_api_timeout_ms if None.

        Returns:
            dict[TopicPartition, int]: Offsets that were not returned yet.

        Raises:
            KafkaError: Any error that `position` and `end_offsets` raise.

        Example:
            >>> lag = consumer.lag(timeout=10)
            >>> lag["flights", 0]
            2
        """
        raise NotImplementedError

    def topics(self, *, timeout: float | None = None) -> Any:
        """Ask a broker for the names of all topics.

        Args:
            timeout: Seconds; default_api_timeout_ms if None.

        Returns:
            list[str]: The names in alphabetical order, internal topics included.

        Raises:
            BootstrapError: No broker answered in time; the message has a reason for each.
            TimedOut: The time was too short to ask every broker.
            ClosedError: The consumer is closed.

        Example:
            >>> consumer.topics(timeout=10)
            ['flights']
        """
        raise NotImplementedError
