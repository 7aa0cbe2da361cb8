"""Decoding slice by slice gives what decoding at once does, and unpacks no batch before its turn."""

from __future__ import annotations

import pytest

from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.compression import Codec, compress
from kafkawire.protocol.records import Unread, decode_columns, messages, read_batches, slices
from tests.protocol.optional import with_and_without
from tests.protocol.records_by_hand import batch, message, record

__all__ = ["with_and_without"]

VALUES = [b"%d" % i * (i % 7) for i in range(230)]


def v2(start, count, codec=Codec.NONE, *, told=None, attributes=0, headers=()):
    """A batch; `told` is how many records its header says it has."""
    records: bytes = b"".join(record(row, VALUES[row % 230], headers=headers) for row in range(count))
    packed = compress(codec, records) if count else b""
    told = count if told is None else told
    return batch(packed, count=told, base_offset=start, attributes=codec | attributes)


def legacy(magic, start, count):
    inner = [message(magic, row if magic else start + row, VALUES[row % 230], timestamp=row) for row in range(count)]
    packed = compress(Codec.GZIP, b"".join(inner), magic=magic)
    return message(magic, start + count - 1, packed, timestamp=count, attributes=Codec.GZIP)


SHAPES = {
    "small": b"".join(v2(start, 10) for start in range(0, 200, 10)),
    "small, compressed": b"".join(v2(start, 10, Codec.LZ4) for start in range(0, 200, 10)),
    "large": v2(0, 300),
    "large, compressed": v2(0, 300, Codec.GZIP) + v2(300, 500, Codec.LZ4),
    "large, with headers": v2(0, 300, Codec.GZIP, headers=[(b"h", b"x")]),
    "of the broker's time": v2(0, 300, Codec.GZIP, attributes=0x08),
    "mixed": v2(0, 5) + v2(5, 300, Codec.GZIP) + v2(305, 5) + legacy(1, 310, 200) + v2(510, 100),
    "old": message(0, 0, b"one") + legacy(0, 1, 250) + legacy(1, 251, 250) + message(1, 501, b"last"),
    "empty": batch(b"", count=0, last_delta=9) + v2(10, 3),
}


@pytest.fixture
def small_slices(monkeypatch):
    monkeypatch.setattr(slices, "SLICE_RECORDS", 64)
    monkeypatch.setattr(slices, "SLICE_BYTES", 1000)


def read(data):
    """Values of each slice, and the offset at which it says to continue."""
    unread: Unread | None = Unread(tuple(read_batches(data)))
    while unread is not None:
        made, unread = unread.decode()
        yield messages(made.columns, "t", 0), made.next_offset


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [bytes, bytearray])
def test_slices_are_the_whole(with_and_without, small_slices, shape, kind):
    data = kind(SHAPES[shape])
    found = list(read(data))
    whole = messages(decode_columns(read_batches(data)), "t", 0)
    assert [m for some, _ in found for m in some] == whole
    assert all(len(some) <= 64 for some, _ in found)
    assert [some[-1].offset + 1 for some, _ in found if some] == [end for some, end in found if some]
    assert found[-1][1] == list(read_batches(data))[-1].next_offset


def test_small_batches_are_decoded_together():
    """As many as make a slice, since each call costs."""
    assert [len(some) for some, _ in read(SHAPES["small"])] == [200]
    assert [len(some) for some, _ in read(SHAPES["small, compressed"])] == [200]


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_damage_comes_to_light_when_it_is_reached(with_and_without, small_slices, codec):
    good = v2(0, 10, codec)
    short = v2(10, 200, codec, told=250)
    found: list[int] = []
    with pytest.raises(CorruptRecordsError, match="offset 10"):
        found.extend(len(some) for some, _ in read(good + short))
    assert 10 < sum(found) <= 210


def test_a_batch_over_the_limit_hides_none_before_it():
    made, left = Unread(tuple(read_batches(v2(0, 10, Codec.GZIP) + v2(10, 200, Codec.GZIP))), limit=500).decode()
    assert made.columns.count == 10
    assert left is not None
    with pytest.raises(CorruptRecordsError, match="more than 500 bytes"):
        left.decode()
