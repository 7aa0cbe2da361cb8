"""The `kafka.*` options of a data source as options of the client: those that the JVM connector refuses are refused too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from kafkawire.config import ConnectionOptions, ConsumerOptions, ProducerOptions, connection_part, from_properties, resolve
from kafkawire.errors import ConfigurationError

__all__ = ["PREFIX", "consumer_options", "producer_options", "split_options"]

PREFIX = "kafka."

_BYTES = "keys and values are always bytes; use DataFrame operations to convert them"
_REFUSED_READING = {
    "auto.offset.reset": "set startingOffsets to say where to start; an offset that is gone is always an error",
    "key.deserializer": _BYTES,
    "value.deserializer": _BYTES,
    "enable.auto.commit": "the data source commits no offsets",
    "interceptor.classes": "interceptors are Java classes; use DataFrame operations",
}
_REFUSED_WRITING = {
    "key.serializer": _BYTES,
    "value.serializer": _BYTES,
    "interceptor.classes": "interceptors are Java classes; use DataFrame operations",
    "transactional.id": "transactional writes are not supported yet",
}

_NO_EFFECT = {
    "client.dns.lookup",
    "client.rack",
    "receive.buffer.bytes",
    "send.buffer.bytes",
}
"""Properties that only tune the Java client's connections."""
_NO_EFFECT_READING = _NO_EFFECT | {
    "group.id",  # no group is joined
    "group.instance.id",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "max.poll.records",  # Spark's batches have a size of their own
    "session.timeout.ms",
}

_FETCH_MAX_WAIT_MS = 10
"""Milliseconds; tasks fetch only records that exist, and one left waiting at a partition's end holds up the next task."""
_MAX_PARTITION_FETCH_BYTES = 4_194_304
"""Bytes; a task reads one partition, and at 1 MiB, Kafka's default, round trips cost it a third of its speed."""


def consumer_options(options: Mapping[str, str]) -> ConsumerOptions:
    """All consumer options of a source's options. Raises ConfigurationError for missing, unknown, wrong or refused ones."""
    properties = _properties(options, _REFUSED_READING, _NO_EFFECT_READING, "source")
    isolation = properties.pop("isolation.level", "read_uncommitted")
    if isolation != "read_uncommitted":
        raise ConfigurationError(f"kafka.isolation.level: {isolation!r} is not supported yet, only 'read_uncommitted'")
    own: dict[str, Any] = {
        "auto_offset_reset": "none",
        "fetch_max_wait_ms": _FETCH_MAX_WAIT_MS,
        "max_partition_fetch_bytes": _MAX_PARTITION_FETCH_BYTES,
    }
    return resolve(ConsumerOptions, own | _from_properties(ConsumerOptions, properties))


def producer_options(options: Mapping[str, str]) -> ProducerOptions:
    """All producer options of a sink's options. Raises as `consumer_options`."""
    properties = _properties(options, _REFUSED_WRITING, _NO_EFFECT, "sink")
    return resolve(ProducerOptions, _from_properties(ProducerOptions, properties))


def split_options(options: ConsumerOptions) -> tuple[ConnectionOptions, ConsumerOptions]:
    """The options of a consumer's connection, and the others, for a consumer on a connection made before."""
    shared = connection_part(options)
    return shared, cast(ConsumerOptions, {name: value for name, value in options.items() if name not in shared})


def _properties(options: Mapping[str, str], refused: Mapping[str, str], ignored: set[str], kind: str) -> dict[str, str]:
    """The Kafka properties that have an effect, without the prefix."""
    given = {name.removeprefix(PREFIX): value for name, value in options.items() if name.startswith(PREFIX)}
    if "bootstrap.servers" not in given:
        raise ConfigurationError(f"option 'kafka.bootstrap.servers' must be specified for the Kafka {kind}: host:port,...")
    for name, advice in refused.items():
        if name in given:
            raise ConfigurationError(f"option 'kafka.{name}' is not supported for the Kafka {kind}: {advice}")
    return {name: value for name, value in given.items() if name not in ignored}


def _from_properties(kind: type[ConsumerOptions | ProducerOptions], properties: Mapping[str, str]) -> dict[str, Any]:
    try:
        return from_properties(kind, properties)
    except ConfigurationError as error:
        raise ConfigurationError(f"option {PREFIX}*: {error}") from None
