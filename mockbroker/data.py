"""Loading and dumping of records without a client, and their form as JSON lines."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from kafkawire.message import Header, Message
from kafkawire.protocol import records
from kafkawire.protocol.murmur2 import murmur2
from mockbroker.json_values import checked_field, parse_json
from mockbroker.records.formats import re_encode
from mockbroker.records.validator import append

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer
    from mockbroker.state.cluster import Cluster

__all__ = ["Record", "append_all", "append_records", "choose_partition", "dump", "from_plain", "load", "messages", "to_plain"]

# Versions of Produce that carry message sets and batches.
_PRODUCE_MESSAGE_SET = 2
_PRODUCE_BATCH = 9

_BATCH_BYTES = 500_000
"""Most bytes of keys and values in a loaded batch: half of max.message.bytes."""


class Record(NamedTuple):
    """Record to append. Without `partition` its key decides; `timestamp` is in milliseconds, None for now."""

    topic: str
    value: bytes | None
    key: bytes | None = None
    partition: int | None = None
    timestamp: int | None = None
    headers: tuple[Header, ...] = ()


def choose_partition(cluster: Cluster, topic: str, key: bytes | None) -> int:
    """Choose the partition of a record: by its key as Java's client does, and without a key partition 0."""
    return 0 if key is None else murmur2(key) % len(cluster.topic(topic).partitions)


def append_records(cluster: Cluster, topic: str, partition: int, batch: Sequence[Record], now: float) -> list[int]:
    """Append records as one batch, as a producer would. Returns their offsets. Raises BrokerError as Produce does."""
    now_ms = cluster.wall_clock_ms(now)
    times = [now_ms if record.timestamp is None else record.timestamp for record in batch]
    values, keys = [record.value for record in batch], [record.key for record in batch]
    parts = records.encode_columns(values, keys, times, headers=[record.headers for record in batch], base_timestamp=times[0])
    data: Buffer = records.seal_batch(parts, count=len(batch), base_timestamp=times[0], max_timestamp=max(times))
    magic, version = cluster.profile.magic, _PRODUCE_BATCH
    if magic < 2:
        data, version = re_encode(data, magic), _PRODUCE_MESSAGE_SET
    info = append(cluster.partition(topic, partition), data, version, magic, now_ms)
    return list(range(info.base_offset, info.base_offset + len(batch)))


def messages(cluster: Cluster, topic: str, partition: int | None) -> list[Message]:
    """Records of a topic or of one partition, by partition, then by offset."""
    partitions = cluster.topic(topic).partitions if partition is None else [cluster.partition(topic, partition)]
    found: list[Message] = []
    for one in partitions:
        stored = [batch for kept in one.log.batches(one.log.log_start_offset) for batch in records.read_batches(kept.data)]
        found += records.messages(records.decode_columns(stored), topic, one.index)
    return found


def to_plain(message: Message) -> dict[str, Any]:
    """Convert a record to JSON values: keys, values and headers as text, or as {"base64": ...} if they are no UTF-8."""
    return {
        "topic": message.topic,
        "partition": message.partition,
        "offset": message.offset,
        "timestamp": message.timestamp,
        "key": _text(message.key),
        "value": _text(message.value),
        "headers": [[name, _text(value)] for name, value in message.headers],
    }


def dump(cluster: Cluster, file: IO[str]) -> None:
    """Write every topic that is not internal, with its records, as JSON lines."""
    for topic in cluster.topics.values():
        if topic.internal:
            continue
        _write(file, {"topic": topic.name, "partitions": len(topic.partitions), "configs": topic.configs})
        for message in messages(cluster, topic.name, None):
            _write(file, to_plain(message))


def load(cluster: Cluster, lines: Iterable[str], now: float) -> int:
    """Create topics and append records from JSON lines as `dump` writes them. Returns the number of records.

    A topic that exists stays as it is; one without a line of its own gets the partitions that its records name. Raises
    ValueError with the number of a line that cannot be understood, before anything is loaded.
    """
    topics: dict[str, dict[str, Any]] = {}
    loaded: list[Record] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            plain = parse_json(line)
            if isinstance(plain, dict) and "partitions" in plain:
                topics[checked_field(plain, "topic", str)] = {**plain, "partitions": checked_field(plain, "partitions", int)}
            else:
                loaded.append(from_plain(plain))
        except ValueError as error:
            raise ValueError(f"line {number}: {error}") from None
    for record in loaded:
        named = topics.setdefault(record.topic, {"partitions": 1})
        named["partitions"] = max(named["partitions"], (record.partition or 0) + 1)
    for name, plain in topics.items():
        if name not in cluster.topics:
            cluster.create_topic(name, plain["partitions"], configs=checked_field(plain, "configs", dict, {}))
    append_all(cluster, loaded, now)
    return len(loaded)


def append_all(cluster: Cluster, loaded: Iterable[Record], now: float) -> list[tuple[int, int]]:
    """Append records of any topics, neighbours of one partition as one batch. Returns partition and offset of each."""

    def place(record: Record) -> tuple[str, int]:
        chosen = choose_partition(cluster, record.topic, record.key) if record.partition is None else record.partition
        return record.topic, chosen

    places = []
    for (topic, partition), neighbours in groupby(loaded, place):
        for batch in _batches(neighbours):
            places += [(partition, offset) for offset in append_records(cluster, topic, partition, batch, now)]
    return places


def from_plain(plain: Any, topic: str | None = None) -> Record:
    """Convert JSON values to a record; all but the value may be left out, the topic if it is given. Raises ValueError.

    An offset is ignored: the log gives it.
    """
    if not isinstance(plain, dict):
        raise ValueError(f"{plain!r} is no record, which is an object such as {{'topic': 't', 'value': 'v'}}")  # noqa: TRY004 - of JSON
    unknown = plain.keys() - {"topic", "partition", "offset", "timestamp", "key", "value", "headers"}
    if unknown or "value" not in plain:
        fault = f"has no {min(unknown)!r}" if unknown else "needs a 'value', which may be null"
        raise ValueError(f"a record {fault}; it may have topic, partition, timestamp, key, value and headers")
    return Record(
        checked_field(plain, "topic", str) if topic is None else topic,
        _bytes(plain["value"]),
        _bytes(plain.get("key")),
        checked_field(plain, "partition", int, None),
        checked_field(plain, "timestamp", int, None),
        tuple(map(_header, checked_field(plain, "headers", list, []))),
    )


def _batches(neighbours: Iterable[Record]) -> Iterator[list[Record]]:
    batch: list[Record] = []
    size = 0
    for record in neighbours:
        own = len(record.value or b"") + len(record.key or b"")
        if batch and size + own > _BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += own
    yield batch


def _header(plain: Any) -> Header:
    if not isinstance(plain, list) or len(plain) != 2 or not isinstance(plain[0], str):
        raise ValueError(f"'headers' has {plain!r}, which is not [name, value]")
    return plain[0], _bytes(plain[1])


def _text(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": b64encode(data).decode()}


def _bytes(plain: Any) -> bytes | None:
    if plain is None:
        return None
    if isinstance(plain, str):
        return plain.encode()
    if isinstance(plain, dict) and isinstance(plain.get("base64"), str):
        return b64decode(plain["base64"], validate=True)
    raise ValueError(f"{plain!r} is neither text, nor null, nor {{'base64': '...'}}")


def _write(file: IO[str], plain: Mapping[str, Any]) -> None:
    json.dump(plain, file, ensure_ascii=False)
    file.write("\n")
