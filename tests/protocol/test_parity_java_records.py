"""Kafka's Java client reads the records that we write and writes records that we read: all formats, all codecs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkawire.protocol.compression import Codec
from kafkawire.protocol.records import decode_columns, encode_columns, encode_message_set, messages, read_batches, seal_batch
from tests.protocol.java_client import JavaBatch, JavaClient, JavaRecord
from tests.protocol.kafka_definitions import NEWEST
from tests.protocol.optional import with_and_without

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.message import Message

__all__ = ["with_and_without"]

pytestmark = pytest.mark.real

FORMATS = [(2, codec) for codec in Codec] + [(magic, codec) for magic in (0, 1) for codec in Codec if codec is not Codec.ZSTD]
every_format = pytest.mark.parametrize(("magic", "codec"), FORMATS, ids=lambda value: getattr(value, "name", value))
few_examples = settings(max_examples=8)

HEADERS = st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=8)), max_size=3).map(tuple)
BYTES = st.none() | st.binary(max_size=12) | st.integers(100, 300).map(bytes)
ROWS = st.lists(st.builds(JavaRecord, st.just(0), st.integers(0, 1 << 41), BYTES, BYTES, HEADERS), min_size=1, max_size=8)

MANY = [
    JavaRecord(at, 1_700_000_000_000 + at * 7, b"key %d" % at, b"%d, " % at * (at % 90) or None, (("h", b"v" * (at % 3)),))
    for at in range(200)
] + [JavaRecord(200, 1_700_000_001_400, None, b"more than one block " * 10_000, ())]


@pytest.fixture(scope="module")
def java() -> Iterator[JavaClient]:
    with JavaClient(NEWEST) as client:
        yield client


def shaped(rows: list[JavaRecord], magic: int, base_offset: int = 0) -> list[JavaRecord]:
    """Rows numbered one after the other, with what a format can carry of them."""
    return [
        row._replace(
            offset=base_offset + at, timestamp=row.timestamp if magic else -1, headers=row.headers if magic == 2 else ()
        )
        for at, row in enumerate(rows)
    ]


def write(rows: list[JavaRecord], magic: int, codec: Codec) -> bytes:
    if magic < 2:
        return encode_message_set(magic, [(row.key, row.value, row.timestamp) for row in rows], codec=codec)
    _, stamps, keys, values, headers = zip(*rows, strict=True)
    parts = encode_columns(values, keys, stamps, headers, base_timestamp=stamps[0])
    return bytes(seal_batch(parts, count=len(rows), base_timestamp=stamps[0], max_timestamp=max(stamps), codec=codec))


def read(data: bytes) -> list[Message]:
    return messages(decode_columns(read_batches(data)), "t", 0)


def as_java(found: list[Message]) -> list[JavaRecord]:
    return [JavaRecord(m.offset, -1 if m.timestamp is None else m.timestamp, m.key, m.value, m.headers) for m in found]


def java_rows(batches: list[JavaBatch], magic: int, codec: Codec) -> list[JavaRecord]:
    """The records of batches that must all be sound and of one kind."""
    assert {(batch.magic, batch.valid, batch.compression) for batch in batches} == {(magic, True, codec.name.lower())}
    return [record for batch in batches for record in batch.records]


@every_format
@few_examples
@given(rows=ROWS)
def test_java_reads_what_we_write(java: JavaClient, magic: int, codec: Codec, rows: list[JavaRecord]) -> None:
    expected = shaped(rows, magic)
    assert java_rows(java.decode_records(write(expected, magic, codec)), magic, codec) == expected


@every_format
@few_examples
@given(rows=ROWS, base_offset=st.integers(0, 1 << 40))
def test_we_read_what_java_writes(java: JavaClient, magic: int, codec: Codec, rows: list[JavaRecord], base_offset: int) -> None:
    expected = shaped(rows, magic, base_offset)
    data = java.encode_records(magic, codec.name.lower(), expected, base_offset=base_offset)
    assert {batch.codec for batch in read_batches(data)} == {codec}
    assert as_java(read(data)) == expected


@every_format
def test_many_records_with_and_without_accelerators(with_and_without: str, java: JavaClient, magic: int, codec: Codec) -> None:
    expected = shaped(MANY, magic)
    assert java_rows(java.decode_records(write(expected, magic, codec)), magic, codec) == expected
    assert as_java(read(java.encode_records(magic, codec.name.lower(), expected))) == expected


@few_examples
@given(rows=ROWS, producer=st.tuples(st.integers(0, 1 << 40), st.integers(0, 0x7FFF), st.integers(0, 0x7FFFFFFF)))
def test_a_batch_of_a_transaction_is_the_same_byte_for_byte(
    java: JavaClient, rows: list[JavaRecord], producer: tuple[int, int, int]
) -> None:
    expected = shaped(rows, 2)
    _, stamps, keys, values, headers = zip(*expected, strict=True)
    producer_id, epoch, sequence = producer
    ours = seal_batch(
        encode_columns(values, keys, stamps, headers, base_timestamp=stamps[0]),
        count=len(expected),
        base_timestamp=stamps[0],
        max_timestamp=max(stamps),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )
    assert ours == java.encode_records(2, "none", expected, producer=producer, transactional=True)
    (batch,) = java.decode_records(bytes(ours))
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == producer
    assert (batch.transactional, batch.control, batch.max_timestamp) == (True, False, max(stamps))


@pytest.mark.parametrize(("magic", "codec"), [choice for choice in FORMATS if choice[0] > 0], ids=str)
def test_the_brokers_time_and_gaps_between_offsets(java: JavaClient, magic: int, codec: Codec) -> None:
    written = [row._replace(offset=1000 + row.offset * 3) for row in shaped(MANY[:50], magic)]
    data = java.encode_records(magic, codec.name.lower(), written, base_offset=1000, log_append_time=99)
    found = read(data)
    assert as_java(found) == [row._replace(timestamp=99) for row in written]
    assert {m.timestamp_type for m in found} == {1}
    assert list(read_batches(data))[-1].next_offset == written[-1].offset + 1


@pytest.mark.parametrize("commit", [True, False])
def test_the_end_of_a_transaction(java: JavaClient, commit: bool) -> None:
    data = java.encode_end_marker(77, 3, commit=commit, coordinator_epoch=9)
    (batch,) = read_batches(data)
    assert (batch.is_control, batch.is_transactional, batch.producer_id, batch.producer_epoch) == (True, True, 77, 3)
    (marker,) = read(data)
    assert marker.key == b"\0\0\0" + bytes([commit])
    assert marker.value == b"\0\0\0\0\0\x09"


def test_all_formats_one_after_the_other(java: JavaClient) -> None:
    written = b""
    expected: list[JavaRecord] = []
    for magic, codec in FORMATS:
        rows = shaped(MANY[:5], magic, base_offset=len(expected))
        written += java.encode_records(magic, codec.name.lower(), rows, base_offset=len(expected))
        expected += rows
    assert as_java(read(written)) == expected
    assert [record for batch in java.decode_records(written) for record in batch.records] == expected
