"""Damaged batches: one kind of error, no loop, no allocation that the bytes do not justify, never a wrong read."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.compression import Codec, available, compress
from kafkawire.protocol.records import decode_columns, encode_message_set, messages, read_batches, to_arrow, values
from tests import bare
from tests.protocol.optional import with_and_without
from tests.protocol.records_by_hand import batch, record, refresh_crc, varint

__all__ = ["with_and_without"]

FILLER = [record(row + 1) for row in range(100)]
"""Beside a damaged record, so that the vectorised way is taken."""


def read_all(data: bytes) -> int:
    """Read everything, in every way; returns how many records there were."""
    columns = decode_columns(read_batches(data))
    found = messages(columns, "t", 0)
    assert values(columns) == [m.value for m in found]
    if "pyarrow" not in bare.hidden():
        assert to_arrow(columns, "t", 0, headers=True).num_rows == len(found)
    return len(found)


RECORDS = {
    "bytes left": record(0, tail=b"x"),
    "bytes left after headers": record(0, headers=[(b"h", b"v")], tail=b"x"),
    "negative header count": record(0, header_count=-1),
    "header count too large": record(0, headers=[(b"h", b"v")], header_count=2),
    "header count absurd": record(0, headers=[(b"h", b"v")], header_count=1 << 30),
    "header count too small": record(0, headers=[(b"h", b"v")], header_count=0),
    "null header key": record(0, headers=[(None, b"v")]),
    "header value past the end": varint(12) + b"\0\0\0\1\x02v\x02\x02h\x7f" + b"ab",
    "negative length": varint(-7) + record(0)[1:],
    "length with the sign changed": varint(-12) + record(0)[1:],
    "length of none": varint(0),
    "length -1": varint(-1) + b"\0\0\0\1\1\0",
    "length too small": varint(8) + record(0)[1:],
    "length too large": varint(1000) + record(0)[1:],
    "length of 2 GiB": varint((1 << 31) - 1) + record(0)[1:],
    "length in six bytes": varint(11, 6) + record(0)[1:],
    "key length -2": varint(12) + b"\0\0\0" + varint(-2) + b"\x0avalue\0"[:8] + b"",
    "key past the end": varint(11) + b"\0\0\0" + varint(100, 2)[:1] + b"\x0avalue\0",
    "value length -2": varint(6) + b"\0\0\0\1" + varint(-2) + b"\0",
    "value past the end": varint(11) + b"\0\0\0\1" + varint(60) + b"value\0",
    "value length in six bytes": varint(16) + b"\0\0\0\1" + varint(5, 6) + b"value\0",
    "timestamp in eleven bytes": varint(22) + b"\0" + varint(5, 11) + b"\0\1" + varint(5) + b"value\0",
    "timestamp out of range": record(0, timestamp=(1 << 63) - 1),
    "offset delta below the log": record(-1000),
}


@pytest.mark.parametrize("bad", RECORDS.values(), ids=RECORDS)
@pytest.mark.parametrize("filler", [[], FILLER], ids=["alone", "first of many"])
def test_trap_29_37_damaged_records(with_and_without, bad, filler):
    with pytest.raises(CorruptRecordsError):
        read_all(batch([bad, *filler]))


@pytest.mark.parametrize("bad", RECORDS.values(), ids=RECORDS)
def test_trap_29_37_damaged_records_at_the_end_and_compressed(with_and_without, bad):
    for codec in (Codec.NONE, Codec.GZIP):
        with pytest.raises(CorruptRecordsError):
            read_all(batch(compress(codec, b"".join([*FILLER, bad])), count=101, attributes=codec))


@pytest.mark.parametrize("count", [0, 1, 99, 101, 1000, 100_000, (1 << 31) - 1, -1, -(1 << 31)])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
@pytest.mark.parametrize("size", [3, 100])
def test_trap_29_30_counts_that_do_not_fit_the_bytes(with_and_without, count, codec, size):
    with pytest.raises(CorruptRecordsError):
        read_all(batch(compress(codec, b"".join(FILLER[:size])), count=count, last_delta=100, attributes=codec))


@pytest.mark.parametrize("count", [4, 100_000, (1 << 31) - 1, -1])
def test_trap_30_absurd_counts_are_refused_by_the_header_alone(count):
    with pytest.raises(CorruptRecordsError, match=f"{count} records in a batch of"):
        list(read_batches(batch(FILLER[:2], count=count)))


def test_trap_37_a_null_header_name_is_called_that():
    with pytest.raises(CorruptRecordsError, match="header name of -1 bytes"):
        read_all(batch([record(0, headers=[(None, b"v")])]))


def test_trap_29_records_without_bytes():
    for codec in (Codec.NONE, Codec.GZIP):
        for body in (b"", compress(codec, b"")):
            with pytest.raises(CorruptRecordsError):
                read_all(batch(body, count=5, attributes=codec))


@pytest.mark.parametrize("length", [-1, -(1 << 31), -12, 0, 5, 13, 48])
def test_trap_42_batch_lengths_below_the_header(length):
    good = batch([record(0)])
    bad = struct.pack(">qi", 0, length) + good[12:]
    with pytest.raises(CorruptRecordsError):
        list(read_batches(bad + good))
    reader = read_batches(good + bad)
    assert next(reader).count == 1
    with pytest.raises(CorruptRecordsError):
        next(reader)


@pytest.mark.parametrize("magic", [-1, 3, 127])
def test_unknown_formats(magic):
    data = bytearray(batch([record(0)]))
    data[16] = magic & 0xFF
    with pytest.raises(CorruptRecordsError, match=f"format {magic}"):
        list(read_batches(data))


@pytest.mark.parametrize(("base_offset", "last_delta"), [(-1, 0), (0, -1), ((1 << 63) - 1, 0), ((1 << 63) - 10, 20)])
def test_offsets_out_of_range(base_offset, last_delta):
    with pytest.raises(CorruptRecordsError, match="out of range"):
        list(read_batches(batch([record(0)], base_offset=base_offset, last_delta=last_delta)))


def samples() -> list[bytes]:
    rows = [record(row, b"value" * row, b"key", row * 1000, [(b"h", b"v"), (b"h", None)]) for row in range(3)]
    many = [record(row, b"value", None if row % 3 else b"key") for row in range(60)]
    found = [batch(rows), batch(many, base_offset=70), batch(rows) + batch(many)]
    found += [
        batch(compress(codec, b"".join(many)), count=60, attributes=codec) for codec in Codec if codec and available()[codec]
    ]
    for magic in (0, 1):
        for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
            found.append(encode_message_set(magic, [(b"k", b"v" * row, 5) for row in range(4)], codec=codec))
    return found


@pytest.mark.parametrize("sample", range(len(samples())))
def test_truncation_at_every_byte(with_and_without, sample):
    data = samples()[sample]
    whole = read_all(data)
    for size in range(len(data)):
        assert read_all(data[:size]) < whole


@pytest.mark.parametrize("sample", range(len(samples())))
@settings(max_examples=60)
@given(changes=st.data())
def test_mutation_raises_one_error_or_nothing(sample, changes):
    data = bytearray(samples()[sample])
    for _ in range(changes.draw(st.integers(1, 3))):
        data[changes.draw(st.integers(0, len(data) - 1))] = changes.draw(st.integers(0, 255))
    with contextlib.suppress(CorruptRecordsError):
        decoded = decode_columns(read_batches(data, check_crcs=False), limit=1 << 20)
        messages(decoded, "t", 0)


@settings(max_examples=300)
@given(changes=st.lists(st.tuples(st.integers(61, 400), st.integers(0, 255)), min_size=1, max_size=4))
def test_both_ways_judge_damage_alike(changes):
    """Damaged records are read alone by the plain reader, and among many by the numpy reader, with one result."""
    rows = [record(row, b"value" * row, b"key", row * 1000, [(b"h", b"v")]) for row in range(6)]
    data = bytearray(batch(rows))
    for at, byte in changes:
        data[at % (len(data) - 61) + 61] = byte
    bad = refresh_crc(data)
    assert outcome(bad) == outcome(bad + batch([record(row) for row in range(60)]), 60)


def outcome(data: bytes, drop: int = 0) -> object:
    try:
        found = messages(decode_columns(read_batches(data)), "t", 0)
    except CorruptRecordsError:
        return "damaged"
    return found[: len(found) - drop]


def test_damaged_header_offsets_never_reach_a_neighbour(with_and_without):
    """A record that claims bytes of the next batch is refused, not read across."""
    greedy = varint(11 + 61) + record(0)[1:]
    with pytest.raises(CorruptRecordsError):
        read_all(batch([*FILLER, greedy], count=101) + batch(FILLER))
