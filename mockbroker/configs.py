"""The topic and broker configurations that the mock knows, with Kafka's defaults and how their values are checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from kafkawire.errors import ErrorCode, broker_error

__all__ = ["BROKER_DEFAULTS", "TOPIC_CONFIGS", "TopicConfig", "check_topic_configs"]


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """A topic configuration: its default, and a check that raises ValueError for a value that Kafka refuses."""

    default: str
    check: Callable[[str], object]


def _boolean(value: str) -> None:
    if value.lower() not in ("true", "false"):
        raise ValueError("must be true or false")


def _at_least(lowest: int) -> Callable[[str], None]:
    def check(value: str) -> None:
        if int(value) < lowest:
            raise ValueError(f"must be at least {lowest}")

    return check


def _one_of(*names: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        if value not in names:
            raise ValueError(f"must be one of {', '.join(names)}")

    return check


def _list_of(*names: str) -> Callable[[str], None]:
    def check(value: str) -> None:
        if any(name.strip() not in names for name in value.split(",")):
            raise ValueError(f"must be a list of {', '.join(names)}")

    return check


_LONG_MAX = str(2**63 - 1)

TOPIC_CONFIGS: dict[str, TopicConfig] = {
    "cleanup.policy": TopicConfig("delete", _list_of("compact", "delete")),
    "compression.gzip.level": TopicConfig("-1", int),
    "compression.lz4.level": TopicConfig("9", int),
    "compression.type": TopicConfig("producer", _one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")),
    "compression.zstd.level": TopicConfig("3", int),
    "delete.retention.ms": TopicConfig("86400000", _at_least(0)),
    "file.delete.delay.ms": TopicConfig("60000", _at_least(0)),
    "flush.messages": TopicConfig(_LONG_MAX, _at_least(1)),
    "flush.ms": TopicConfig(_LONG_MAX, _at_least(0)),
    "follower.replication.throttled.replicas": TopicConfig("", str),
    "index.interval.bytes": TopicConfig("4096", _at_least(0)),
    "leader.replication.throttled.replicas": TopicConfig("", str),
    "local.retention.bytes": TopicConfig("-2", _at_least(-2)),
    "local.retention.ms": TopicConfig("-2", _at_least(-2)),
    "max.compaction.lag.ms": TopicConfig(_LONG_MAX, _at_least(1)),
    "max.message.bytes": TopicConfig("1048588", _at_least(0)),
    "message.timestamp.after.max.ms": TopicConfig("3600000", _at_least(0)),
    "message.timestamp.before.max.ms": TopicConfig(_LONG_MAX, _at_least(0)),
    "message.timestamp.type": TopicConfig("CreateTime", _one_of("CreateTime", "LogAppendTime")),
    "min.cleanable.dirty.ratio": TopicConfig("0.5", float),
    "min.compaction.lag.ms": TopicConfig("0", _at_least(0)),
    "min.insync.replicas": TopicConfig("1", _at_least(1)),
    "preallocate": TopicConfig("false", _boolean),
    "remote.log.copy.disable": TopicConfig("false", _boolean),
    "remote.log.delete.on.disable": TopicConfig("false", _boolean),
    "remote.storage.enable": TopicConfig("false", _boolean),
    "retention.bytes": TopicConfig("-1", int),
    "retention.ms": TopicConfig("604800000", _at_least(-1)),
    "segment.bytes": TopicConfig("1073741824", _at_least(14)),
    "segment.index.bytes": TopicConfig("10485760", _at_least(4)),
    "segment.jitter.ms": TopicConfig("0", _at_least(0)),
    "segment.ms": TopicConfig("604800000", _at_least(1)),
    "unclean.leader.election.enable": TopicConfig("false", _boolean),
}

BROKER_DEFAULTS: dict[str, str] = {
    "auto.create.topics.enable": "true",
    "default.replication.factor": "3",  # capped at the number of brokers, so that a stopped broker loses no partition
    "num.partitions": "1",
    "offset.metadata.max.bytes": "4096",
    "socket.request.max.bytes": "104857600",
}


def check_topic_configs(configs: Mapping[str, str | None]) -> None:
    """Raise INVALID_CONFIG for an unknown name or a value that Kafka refuses."""
    for name, value in configs.items():
        config = TOPIC_CONFIGS.get(name)
        if config is None:
            raise broker_error(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}")
        if value is None:
            raise broker_error(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {name}")
        try:
            config.check(value)
        except ValueError as error:
            raise broker_error(ErrorCode.INVALID_CONFIG, f"Invalid value {value} for configuration {name}: {error}") from None
