"""Writing record batches: the bytes against a hand-made reference, columns against single records."""

from __future__ import annotations

import sys
import threading
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.errors import ConfigurationError
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.records import (
    decode_columns,
    encode_columns,
    encode_record,
    messages,
    read_batches,
    seal_batch,
)
from tests.protocol import records_by_hand as by_hand
from tests.protocol.optional import with_and_without, without

__all__ = ["with_and_without"]

MAYBE_BYTES = st.none() | st.binary(max_size=200)
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=5)), max_size=3)
WIDTHS = st.sampled_from([0, 1, 8, 63, 64, 199, 200, 201, 300])
BASE = 1_700_000_000_000


@given(st.integers(0, 1 << 30), st.integers(-(1 << 62), 1 << 62), MAYBE_BYTES, MAYBE_BYTES, HEADERS)
def test_a_record_is_as_the_format_says(delta, timestamp, key, value, headers):
    expected = by_hand.record(delta, value, key, timestamp, [(name.encode(), content) for name, content in headers])
    assert encode_record(delta, timestamp, key, value, headers) == expected


@given(
    st.lists(st.tuples(MAYBE_BYTES, MAYBE_BYTES, st.integers(0, 1000), HEADERS), max_size=80),
    st.sampled_from([0, 30, 63, 8150, 8191, 1_048_540]),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_columns_are_the_same_as_records(rows, first, chosen):
    with_keys, with_times, with_headers = chosen
    values = [value for value, _, _, _ in rows]
    keys = [key for _, key, _, _ in rows] if with_keys else None
    times = [5000 + time for _, _, time, _ in rows] if with_times else None
    headers = [header for _, _, _, header in rows] if with_headers else None
    expected = [
        encode_record(first + row, time if with_times else 0, key if with_keys else None, value, header if with_headers else ())
        for row, (value, key, time, header) in enumerate(rows)
    ]
    parts = encode_columns(values, keys, times, headers, base_timestamp=5000, first_delta=first)
    assert b"".join(parts) == b"".join(expected)


@given(st.integers(9, 200), st.integers(0, 3), st.randoms(use_true_random=False))
def test_columns_of_much_the_same_records_are_the_same_as_records(count, header_count, random):
    def pick(*choices):
        return random.choices(choices, k=count)

    values, keys = pick(b"", b"v" * 70, b"v" * 100), pick(None, b"", b"key")
    times = pick(0, 1, 100)
    headers = [
        [(random.choice(["a", "bcd"]), random.choice([None, b"", b"x" * 80])) for _ in range(header_count)]
        for _ in range(count)
    ]
    parts = encode_columns(values, keys, [1000 + time for time in times], headers, base_timestamp=1000)
    rows = zip(times, keys, values, headers, strict=True)
    assert b"".join(parts) == b"".join(encode_record(row, *record) for row, record in enumerate(rows))


@st.composite
def alike(draw, count):
    """Items of one length, or all but one of them."""
    width = draw(WIDTHS)
    items = [(row * 7919 + 1).to_bytes(300, "little")[:width] for row in range(count)]
    if draw(st.booleans()):
        odd = [None, b"", b"x" * (width + 1), b"x" * (width + 400), bytearray(width), memoryview(bytes(width))]
        items[draw(st.integers(0, count - 1))] = draw(st.sampled_from(odd))
    return items


@st.composite
def alike_headers(draw, count):
    """Rows of as many headers with the same names, or all but one of them."""
    names = draw(st.lists(st.sampled_from(["a", "trace", "\u00fc" * 40]), max_size=2))
    columns = [draw(alike(count)) for _ in names]
    rows = [[(name, column[row]) for name, column in zip(names, columns, strict=True)] for row in range(count)]
    if draw(st.booleans()):
        odd = [None, (), [("a", b"1")], [("a", None), ("b", b"")], [("b", b"") for _ in names], {"c": b"1"}.items()]
        rows[draw(st.integers(0, count - 1))] = draw(st.sampled_from(odd))
    return rows


def times_of(count):
    """One for all, or one each: a few different ones, many, or ones that go back."""
    few = st.lists(st.integers(0, 100_000), min_size=1, max_size=4).map(sorted)
    runs = few.map(lambda times: [BASE + times[row * len(times) // count] for row in range(count)])
    steps = st.lists(st.integers(-70, 70), min_size=8, max_size=8)
    each = steps.map(lambda steps: list(accumulate((steps[row % 8] for row in range(count - 1)), initial=BASE)))
    return st.sampled_from([None, BASE, BASE - 1, BASE + 100]) | runs | each


@given(st.data(), st.sampled_from([9, 499, 500, 501, 1300]), st.sampled_from([0, 40, 7900, 16_000, 1_048_300]))
def test_columns_of_records_of_one_shape_are_the_same_as_records(data, count, first):
    values = data.draw(alike(count))
    keys = data.draw(st.none() | alike(count))
    times = data.draw(times_of(count))
    headers = data.draw(st.none() | alike_headers(count))
    rows = zip(
        [BASE if times is None else times] * count if times is None or isinstance(times, int) else times,
        keys or [None] * count,
        values,
        headers or [None] * count,
        strict=True,
    )
    expected = [encode_record(first + row, time - BASE, *record) for row, (time, *record) in enumerate(rows)]
    columns = values, keys, times, headers
    assert b"".join(encode_columns(*columns, base_timestamp=BASE, first_delta=first)) == b"".join(expected)
    with without("numpy"):
        assert b"".join(encode_columns(*columns, base_timestamp=BASE, first_delta=first)) == b"".join(expected)


@pytest.mark.parametrize("odd", [None, b"", b"1", b"123", b"x" * 300, bytearray(b"12"), memoryview(b"12")])
@pytest.mark.parametrize("column", ["values", "keys", "contents"])
def test_one_record_is_unlike_the_others(with_and_without, column, odd):
    columns = {name: [b"%02d" % (row % 100) for row in range(1000)] for name in ("values", "keys", "contents")}
    columns[column][700] = odd
    values, keys, contents = columns.values()
    headers = [[("name", content)] for content in contents]
    expected = [encode_record(row, 0, *record) for row, record in enumerate(zip(keys, values, headers, strict=True))]
    assert b"".join(encode_columns(values, keys, headers=headers, base_timestamp=0)) == b"".join(expected)


def test_one_header_is_called_unlike_the_others(with_and_without):
    headers = [[("other" if row == 700 else "name", b"content")] for row in range(1000)]
    parts = encode_columns([b"v"] * 1000, headers=headers, base_timestamp=0)
    assert b"".join(parts) == b"".join(encode_record(row, 0, None, b"v", header) for row, header in enumerate(headers))


def test_headers_may_be_iterators(with_and_without):
    headers = [[("a", b"%04d" % row)] for row in range(1000)]
    rows = [*headers[:600], iter(headers[600]), (header for header in headers[601]), *headers[602:]]
    parts = encode_columns([b"v"] * 1000, headers=rows, base_timestamp=0)
    assert b"".join(parts) == b"".join(encode_record(row, 0, None, b"v", header) for row, header in enumerate(headers))


def test_no_other_thread_gets_a_turn_meanwhile(with_and_without):
    # Once it has let go of the GIL, a sender beside a busy thread waits for a switch interval to get it back.
    turns = []
    lock = threading.Lock()

    def take_a_turn():
        with lock:
            turns.append("other")

    other = threading.Thread(target=take_a_turn)
    count = 6000
    columns = [b"v" * 100] * count, [b"k" * 8] * count, None, [(("name", b"content"),)] * count
    encode_columns(*columns, base_timestamp=0)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        with lock:
            other.start()  # it comes back when the other one waits for the lock
        for _ in range(50):
            encode_columns(*columns, base_timestamp=0)
        turns.append("encoded")
    finally:
        sys.setswitchinterval(interval)
        other.join()
    assert turns[0] == "encoded"


def test_columns_of_unlike_headers_are_the_same_as_records():
    headers = [*[[("a", b"1")]] * 10, None, (), [("a", b"1"), ("b", None)]]
    parts = encode_columns([b"v"] * len(headers), headers=headers, base_timestamp=0)
    assert b"".join(parts) == b"".join(encode_record(row, 0, None, b"v", header) for row, header in enumerate(headers))


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_columns_take_any_bytes(kind):
    values = [b"one", b"three", b"two"]
    assert b"".join(encode_columns([kind(v) for v in values], base_timestamp=0)) == b"".join(
        encode_record(row, 0, None, value) for row, value in enumerate(values)
    )


def test_text_is_not_taken_for_bytes():
    with pytest.raises(TypeError):
        encode_record(0, 0, None, "text")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        seal_batch(encode_columns(["text"], base_timestamp=0), count=1, base_timestamp=0, max_timestamp=0)  # type: ignore[list-item]


def test_a_sealed_batch_is_as_the_format_says(with_and_without):
    records = [by_hand.record(0, b"a"), by_hand.record(1, b"b", timestamp=5)]
    sealed = seal_batch(
        records,
        count=2,
        base_timestamp=1000,
        max_timestamp=1005,
        producer_id=1 << 40,
        producer_epoch=3,
        base_sequence=(1 << 31) - 1,
        transactional=True,
    )
    assert sealed == by_hand.batch(
        records,
        base_timestamp=1000,
        max_timestamp=1005,
        attributes=0x10,
        leader_epoch=-1,
        producer=(1 << 40, 3, (1 << 31) - 1),
    )


def test_the_same_parts_may_be_sealed_twice(with_and_without):
    parts = encode_columns([b"v"] * 1000, base_timestamp=1000)
    before = b"".join(parts)
    first = seal_batch(parts, count=1000, base_timestamp=1000, max_timestamp=1000)
    kept = bytes(first)
    second = seal_batch(parts, count=1000, base_timestamp=2000, max_timestamp=2000)
    assert kept == first == by_hand.batch(before, count=1000, base_timestamp=1000, max_timestamp=1000, leader_epoch=-1)
    assert second == by_hand.batch(before, count=1000, base_timestamp=2000, max_timestamp=2000, leader_epoch=-1)
    assert b"".join(parts) == before


def test_trap_27_28_a_plain_batch_starts_at_zero_and_names_no_producer():
    (batch,) = read_batches(seal_batch([encode_record(0, 0, None, b"v")], count=1, base_timestamp=9, max_timestamp=9))
    assert (batch.base_offset, batch.next_offset, batch.leader_epoch, batch.count) == (0, 1, -1, 1)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (-1, -1, -1)
    assert not batch.is_control
    assert not batch.is_transactional


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("count", [1, 39, 40, 500])
def test_what_is_sealed_is_read_back(with_and_without, codec, count):
    values = [b"value %d" % row * (row % 7) for row in range(count)]
    parts = encode_columns(values, keys=[None, *[b"key"] * (count - 1)], base_timestamp=1000)
    sealed = seal_batch(parts, count=count, base_timestamp=1000, max_timestamp=1000, codec=codec)
    (batch,) = read_batches(sealed)
    assert batch.codec is codec
    assert batch.size == len(sealed)
    found = messages(decode_columns([batch]), "topic", 1)
    assert [message.value for message in found] == values
    assert [message.key for message in found] == [None, *[b"key"] * (count - 1)]
    assert [message.offset for message in found] == list(range(count))


def test_trap_59_a_level_is_checked_when_sealing():
    with pytest.raises(ConfigurationError):
        seal_batch([], count=0, base_timestamp=0, max_timestamp=0, codec=Codec.GZIP, level=11)
