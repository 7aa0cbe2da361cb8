"""Record batches and compression without a broker, against kafka-python and aiokafka, whose record code is compiled Cython.

A batch has 10,000 records, or 1 MB of 1,000 B and 10 MB of 100 kB. Everybody makes and verifies the checksum. Encoding: from
lists of keys, values and headers to the sealed batch. Decoding: to columns or messages here, to their record objects there.
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from importlib import import_module
from random import randint
from typing import TYPE_CHECKING, Any, NamedTuple

from bench.harness import Contender, Job, Row, Sample, processor_time

if TYPE_CHECKING:
    from kafkawire.protocol.records import RecordColumns

__all__ = ["ROWS"]

BATCH = {10: 10_000, 100: 10_000, 1_000: 1_000, 100_000: 100}
"""By size of a value: the records of a batch."""
VARYING = "on average"
"""From half of the size to one and a half."""
SHAPES = ("", VARYING, "with keys", "with keys and headers")
OWN_TIMES = "with a timestamp each"
TIMES = 5
"""Times that a run encodes or decodes a batch."""
NOW = 1_700_000_000_000
LEADER_EPOCH_END = 16
"""Bytes of a batch before which the encoders differ: some write 0, some -1 for the broker to replace."""
TEXT_SIZE = 1_000_000
"""Bytes to compress: lines of JSON."""
LEVELS = {"gzip": 6, "snappy": None, "lz4": None, "zstd": 3}
"""kafkawire's defaults, that of LZ4 being the fast one; the others get the same."""


Options = dict[str, dict[str, int | None]]
"""By codec: what its function takes."""


class Columns(NamedTuple):
    values: list[bytes]
    keys: list[bytes | None] | None
    headers: list[list[tuple[str, bytes | None]]] | None
    timestamps: list[int] | None
    """None: all have the same."""

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Offset, timestamp, key, value and headers of each record."""
        count = len(self.values)
        no_headers: list[tuple[str, bytes | None]] = []
        return zip(
            range(count),
            self.timestamps or [NOW] * count,
            self.keys or [None] * count,
            self.values,
            self.headers or [no_headers] * count,
            strict=True,
        )


@cache
def columns_of(size: int, shape: str) -> Columns:
    count = BATCH[size]
    return Columns(
        [os.urandom(randint(size // 2, size * 3 // 2) if shape == VARYING else size) for _ in range(count)],
        [os.urandom(8) for _ in range(count)] if "keys" in shape else None,
        [[("trace", os.urandom(16))] for _ in range(count)] if "headers" in shape else None,
        [NOW + row * 50 // count for row in range(count)] if shape == OWN_TIMES else None,
    )


@cache
def batch_of(size: int, shape: str) -> bytes:
    return bytes(_seal(columns_of(size, shape)))


def kafkawire_encode(job: Job) -> Sample:
    return _encode(job, _seal)


def _seal(columns: Columns) -> bytearray:
    from kafkawire.protocol.records import encode_columns, seal_batch

    values, keys, headers, timestamps = columns
    parts = encode_columns(values, keys, timestamps, headers, base_timestamp=NOW)
    latest = NOW if timestamps is None else max(timestamps)
    return seal_batch(parts, count=len(values), base_timestamp=NOW, max_timestamp=latest)


def kafka_python_encode(job: Job) -> Sample:
    return _encode(job, lambda columns: _build(_kafka_python("record.default_records"), columns))


def aiokafka_encode(job: Job) -> Sample:
    return _encode(job, lambda columns: _build(import_module("aiokafka.record.default_records"), columns))


def _build(module: Any, columns: Columns) -> bytes:
    builder = module.DefaultRecordBatchBuilder(
        magic=2, compression_type=0, is_transactional=0, producer_id=-1, producer_epoch=-1, base_sequence=-1, batch_size=1 << 30
    )
    append = builder.append
    for offset, timestamp, key, value, headers in columns.rows():
        append(offset, timestamp, key, value, headers)
    batch: bytes = builder.build()
    return batch


def _encode(job: Job, encode: Callable[[Columns], bytes | bytearray]) -> Sample:
    columns = columns_of(job.size, job.shape)
    if encode(columns)[LEADER_EPOCH_END:] != batch_of(job.size, job.shape)[LEADER_EPOCH_END:]:
        raise ValueError("another batch comes out")
    return Sample(job.count * len(columns.values), processor_time(partial(encode, columns), job.count))


def kafkawire_columns(job: Job) -> Sample:
    from kafkawire.protocol.records import values

    return _decode(job, _columns, values)


def kafkawire_messages(job: Job) -> Sample:
    from kafkawire.protocol.records import messages

    return _decode(job, lambda batch: messages(_columns(batch), "flights", 0), _values_of_objects)


def kafkawire_without_numpy(job: Job) -> Sample:
    from kafkawire.protocol.records import values

    with _hidden("numpy", "kafkawire.protocol.records.decode_numpy"):
        return _decode(job, _columns, values)


def _columns(batch: bytes) -> RecordColumns:
    from kafkawire.protocol.records import decode_columns, read_batches

    return decode_columns(read_batches(batch))


def kafka_python_records(job: Job) -> Sample:
    return _decode(job, _iterated(_kafka_python("record.memory_records")), list)


def kafka_python_list(job: Job) -> Sample:
    return _decode(job, _listed(_kafka_python("record.memory_records")), _values_of_objects)


def aiokafka_records(job: Job) -> Sample:
    return _decode(job, _iterated(import_module("aiokafka.record.memory_records")), list)


def aiokafka_list(job: Job) -> Sample:
    return _decode(job, _listed(import_module("aiokafka.record.memory_records")), _values_of_objects)


def _iterated(module: Any) -> Callable[[bytes], list[bytes | None]]:
    """Every record is decoded and only its value kept: a list of the records would cost aiokafka most of its speed."""
    return lambda data: [record.value for record in _batch(module, data)]


def _listed(module: Any) -> Callable[[bytes], list[Any]]:
    return lambda data: list(_batch(module, data))


def _batch(module: Any, data: bytes) -> Any:
    batch = module.MemoryRecords(data).next_batch()
    if not batch.validate_crc():
        raise ValueError("the checksum is wrong")
    return batch


def _values_of_objects(records: list[Any]) -> list[bytes | None]:
    return [record.value for record in records]


def _decode(job: Job, decode: Callable[[bytes], Any], values: Callable[[Any], list[bytes | None]]) -> Sample:
    batch = batch_of(job.size, job.shape)
    expected = columns_of(job.size, job.shape).values
    if values(decode(batch)) != expected:
        raise ValueError("other values come out")
    return Sample(job.count * len(expected), processor_time(partial(decode, batch), job.count))


def kafkawire_codec(job: Job) -> Sample:
    from kafkawire.protocol.compression import Codec, compress, decompress

    codec = Codec.by_name(job.codec)
    return _codec(
        job, lambda data: compress(codec, data, LEVELS[job.codec]), lambda packed: decompress(codec, packed, limit=TEXT_SIZE)
    )


def pure_codec(job: Job) -> Sample:
    with _hidden("snappy", "lz4", "lz4.block", "cramjam", "pyarrow"):
        return kafkawire_codec(job)


def kafka_python_codec(job: Job) -> Sample:
    options: Options = {"gzip": {"compresslevel": LEVELS["gzip"]}, "lz4": {"compression_level": 0}}
    return _peer_codec(job, _kafka_python("codec"), options)


def aiokafka_codec(job: Job) -> Sample:
    options: Options = {"gzip": {"compresslevel": LEVELS["gzip"]}, "lz4": {"level": 1}, "zstd": {"level": LEVELS["zstd"]}}
    return _peer_codec(job, import_module("aiokafka.codec"), options)


def _peer_codec(job: Job, module: Any, options: Options) -> Sample:
    encode, decode = getattr(module, f"{job.codec}_encode"), getattr(module, f"{job.codec}_decode")
    more = options.get(job.codec, {})
    return _codec(job, lambda data: encode(data, **more), decode)


def _codec(job: Job, encode: Callable[[bytes], bytes], decode: Callable[[bytes], bytes]) -> Sample:
    text = _text()
    packed = encode(text)
    if decode(packed) != text:
        raise ValueError("other bytes come out than were put in")
    call = partial(encode, text) if job.encode else partial(decode, packed)
    return Sample(job.count * len(text), processor_time(call, job.count))


@cache
def _text() -> bytes:
    lines = (
        f'{{"flight":"XY{n * 7919 % 10007}","gate":"{n % 40}","delay":{n * n % 181},"state":"on time"}}\n'
        for n in range(20_000)
    )
    return "".join(lines).encode()[:TEXT_SIZE]


def _kafka_python(name: str) -> Any:
    with warnings.catch_warnings():
        # It loads its schemas by a deprecated call of importlib.
        warnings.simplefilter("ignore", DeprecationWarning)
        return import_module(f"kafka.{name}")


@contextmanager
def _hidden(*modules: str) -> Iterator[None]:
    """Let kafkawire choose its implementations as if these could not be imported; and once more afterwards."""
    from kafkawire.protocol import accelerators

    found = {name: sys.modules[name] for name in modules if name in sys.modules}
    sys.modules.update(dict.fromkeys(modules))  # type: ignore[arg-type]  # None: an import of it fails
    accelerators.reset()
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
        sys.modules.update(found)
        accelerators.reset()


def _title(size: int, shape: str, what: str) -> str:
    return " ".join(filter(None, (f"values of {size:,} B", shape))) + f": {what}"


def _rows(name: str, what: str, contenders: list[Contender], shapes: tuple[str, ...] = SHAPES) -> list[Row]:
    return [
        Row(name, _title(size, shape, what), Job(TIMES, size, shape=shape), contenders, together=True)
        for size in BATCH
        for shape in shapes
    ]


ROWS = [
    *_rows(
        "records_encode",
        "encode",
        [
            Contender("kafkawire", kafkawire_encode),
            Contender("aiokafka", aiokafka_encode, "aiokafka", goal=1.0),
            Contender("kafka-python", kafka_python_encode, "kafka", share=0.4),
        ],
        (*SHAPES, OWN_TIMES),
    ),
    *_rows(
        "records_decode",
        "decode to columns",
        [
            Contender("kafkawire", kafkawire_columns),
            Contender("aiokafka", aiokafka_records, "aiokafka", goal=0.7),
            Contender("kafka-python", kafka_python_records, "kafka", share=0.2),
        ],
    ),
    *_rows(
        "records_pure",
        "decode to columns without numpy",
        [
            Contender("kafkawire", kafkawire_without_numpy),
            Contender("kafka-python", kafka_python_records, "kafka", share=0.4, goal=3.0),
        ],
    ),
    *_rows(
        "records_messages",
        "decode to a list of messages",
        [
            Contender("kafkawire", kafkawire_messages),
            Contender("aiokafka", aiokafka_list, "aiokafka"),
            Contender("kafka-python", kafka_python_list, "kafka", share=0.4),
        ],
    ),
    *(
        Row(
            "codecs",
            f"{codec}, 1 MB of JSON, {'compress' if encode else 'decompress'}",
            Job(10, codec=codec, encode=encode),
            [
                Contender("kafkawire", kafkawire_codec),
                *([Contender("kafkawire, pure Python", pure_codec, share=0.1)] if codec in {"snappy", "lz4"} else []),
                Contender("kafka-python", kafka_python_codec, "zstandard" if codec == "zstd" else "kafka"),
                Contender("aiokafka", aiokafka_codec, "aiokafka"),
            ],
            together=True,
        )
        for codec in LEVELS
        for encode in (True, False)
    ),
]
