"""Records against kafka-python's and aiokafka's record code, both directions, all codecs and formats."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkawire.protocol.compression import Codec
from kafkawire.protocol.records import decode_columns, encode_columns, encode_message_set, messages, read_batches, seal_batch
from tests import bare
from tests.protocol import record_peers as peers
from tests.protocol.optional import with_and_without

__all__ = ["with_and_without"]

# With --bare the peers have no other codecs: they need packages for them.
CODECS = [codec for codec in Codec if codec <= Codec.GZIP or not bare.hidden()]
# LZ4 of format 0 aiokafka has not, and kafka-python only with xxhash: test_compression proves trap 51.
FORMATS = [
    (magic, codec)
    for magic in (2, 0, 1)
    for codec in CODECS
    if magic == 2 or (codec is not Codec.ZSTD and (magic, codec) != (0, Codec.LZ4))
]
HEADERS = st.lists(st.tuples(st.text(max_size=8), st.none() | st.binary(max_size=8)), max_size=2).map(tuple)
ROWS = st.lists(
    st.tuples(st.none() | st.binary(max_size=20), st.none() | st.binary(max_size=300), st.integers(0, 1 << 41), HEADERS),
    min_size=1,
    max_size=60,
)


def records_of(rows, magic: int) -> list[peers.Record]:
    return [
        (at, stamp if magic else None, key, value, headers if magic == 2 else ())
        for at, (key, value, stamp, headers) in enumerate(rows)
    ]


def ours(data: bytes) -> list[peers.Record]:
    return [(m.offset, m.timestamp, m.key, m.value, m.headers) for m in messages(decode_columns(read_batches(data)), "t", 0)]


@pytest.mark.parametrize("peer", peers.PEERS)
@pytest.mark.parametrize(("magic", "codec"), FORMATS, ids=str)
@settings(max_examples=25)
@given(rows=ROWS)
def test_we_read_what_a_peer_writes(peer, magic, codec, rows):
    records = records_of(rows, magic)
    assert ours(peers.encode(peer, magic, codec, records)) == records


@pytest.mark.parametrize("peer", peers.PEERS)
@pytest.mark.parametrize(("magic", "codec"), FORMATS, ids=str)
@settings(max_examples=25)
@given(rows=ROWS)
def test_a_peer_reads_what_we_write(peer, magic, codec, rows):
    assert peers.decode(peer, write(rows, magic, codec)) == records_of(rows, magic)


def write(rows, magic: int, codec: Codec) -> bytes:
    if magic < 2:
        return encode_message_set(magic, [(key, value, stamp) for key, value, stamp, _ in rows], codec=codec)
    keys, values, stamps, headers = zip(*rows, strict=True)
    parts = encode_columns(values, keys, stamps, headers, base_timestamp=stamps[0])
    return bytes(seal_batch(parts, count=len(rows), base_timestamp=stamps[0], max_timestamp=max(stamps), codec=codec))


@pytest.mark.parametrize("peer", peers.PEERS)
@pytest.mark.parametrize(("magic", "codec"), FORMATS, ids=str)
def test_large_sets_with_and_without_accelerators(with_and_without, peer, magic, codec):
    rows = [(b"key %d" % at, b"%d, " % at * (at % 90), 1_700_000_000_000 + at, ()) for at in range(1500)]
    records = records_of(rows, magic)
    assert ours(peers.encode(peer, magic, codec, records)) == records
    assert peers.decode(peer, write(rows, magic, codec)) == records


@pytest.mark.parametrize("peer", peers.PEERS)
def test_the_same_batch_byte_for_byte(peer):
    rows = [(None, b"value", 1000, ()), (b"key", None, 1005, (("h", None),)), (None, b"x" * 200, 990, ())]
    ids = {"producer_id": 77, "producer_epoch": 2, "base_sequence": 5, "is_transactional": 1}
    theirs = peers.encode(peer, 2, 0, records_of(rows, 2), **ids)
    keys, values, stamps, headers = zip(*rows, strict=True)
    mine = seal_batch(
        encode_columns(values, keys, stamps, headers, base_timestamp=1000),
        count=3,
        base_timestamp=1000,
        max_timestamp=1005,
        producer_id=77,
        producer_epoch=2,
        base_sequence=5,
        transactional=True,
    )
    (left,), (right,) = read_batches(theirs), read_batches(mine)
    assert theirs[61:] == mine[61:]
    for name in ("producer_id", "producer_epoch", "base_sequence", "is_transactional", "max_timestamp", "count", "next_offset"):
        assert getattr(left, name) == getattr(right, name), name
