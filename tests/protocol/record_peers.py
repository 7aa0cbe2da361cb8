"""The record code of kafka-python and aiokafka, as two functions each: records to bytes, bytes to records."""

from __future__ import annotations

import warnings
from typing import Any

with warnings.catch_warnings():
    # kafka-python loads its schemas by a deprecated call of importlib.
    warnings.simplefilter("ignore", DeprecationWarning)
    import kafka.codec as kafka_python_codec
    import kafka.partitioner.default as kafka_python_partitioner
    import kafka.record as kafka_python
    import kafka.record.default_records as kafka_python_default
    import kafka.record.legacy_records as kafka_python_legacy

import aiokafka.record.default_records as aiokafka_default
import aiokafka.record.legacy_records as aiokafka_legacy
from aiokafka.record.memory_records import MemoryRecords as AiokafkaRecords

__all__ = ["PEERS", "Record", "decode", "encode", "kafka_python_codec", "kafka_python_partitioner"]

PEERS = ("kafka-python", "aiokafka")

Record = tuple[int, int | None, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...]]
"""Offset, timestamp, key, value, headers."""

_BUILDERS: dict[str, tuple[Any, Any]] = {
    "kafka-python": (kafka_python_default.DefaultRecordBatchBuilder, kafka_python_legacy.LegacyRecordBatchBuilder),
    "aiokafka": (aiokafka_default.DefaultRecordBatchBuilder, aiokafka_legacy.LegacyRecordBatchBuilder),
}
_READERS: dict[str, Any] = {"kafka-python": kafka_python.MemoryRecords, "aiokafka": AiokafkaRecords}


def encode(peer: str, magic: int, codec: int, records: list[Record], **options: int) -> bytes:
    """One batch, or one message set; `options` are those of an idempotent or transactional producer."""
    default, legacy = _BUILDERS[peer]
    builder: Any
    if magic == 2:
        options = {"is_transactional": 0, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1, **options}
        builder = default(magic=2, compression_type=codec, batch_size=1 << 30, **options)
    else:
        builder = legacy(magic=magic, compression_type=codec, batch_size=1 << 30)
    for offset, timestamp, key, value, headers in records:
        extra = {"headers": list(headers)} if magic == 2 or peer == "kafka-python" else {}
        assert builder.append(offset, timestamp=timestamp, key=key, value=value, **extra) is not None
    return bytes(builder.build())


def decode(peer: str, data: bytes) -> list[Record]:
    """Records of all batches; raises if a checksum is wrong."""
    records = _READERS[peer](data)
    found: list[Record] = []
    while records.has_next():
        batch = records.next_batch()
        assert batch.validate_crc()
        found += [(r.offset, r.timestamp, r.key, r.value, tuple(r.headers)) for r in batch]
    return found
