"""The codecs: every implementation reads what every other writes, and none gives out more than it may."""

from __future__ import annotations

import contextlib
import gzip
import random
import subprocess
import sys
import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.errors import ConfigurationError, CorruptRecordsError, MissingDependencyError
from kafkawire.protocol import accelerators
from kafkawire.protocol.codecs import lz4 as lz4_codec
from kafkawire.protocol.codecs import lz4_pure, snappy_pure
from kafkawire.protocol.codecs import snappy as snappy_codec
from kafkawire.protocol.codecs import zstd as zstd_codec
from kafkawire.protocol.compression import Codec, available, check_level, compress, decompress
from tests import bare
from tests.protocol.optional import ACCELERATORS, hide, with_and_without
from tests.protocol.record_peers import kafka_python_codec as kafka_python

__all__ = ["with_and_without"]

cramjam = bare.package("cramjam")
lz4_block = bare.package("lz4.block")
lz4_frame = bare.package("lz4.frame")
python_snappy = bare.package("snappy")
zstandard = bare.package("zstandard")

CHOICES: dict[Codec, accelerators.Accelerated[Any]] = {
    Codec.SNAPPY: snappy_codec.implementation,
    Codec.LZ4: lz4_codec.implementation,
    Codec.ZSTD: zstd_codec.implementation,
}
PACKAGES = {
    "python-snappy": ["snappy"],
    "lz4": ["lz4", "lz4.block"],
    "compression.zstd": ["compression.zstd"],
}
REAL = [codec for codec in Codec if codec is not Codec.NONE]
LIMIT = 1 << 20

_random = random.Random(1)
SAMPLES = {
    "empty": b"",
    "a byte": b"x",
    "short": b"abcabcabcabc",
    "a run": b"z" * 200_000,
    "random": _random.randbytes(150_000),
    "words": b" ".join(_random.choice([b"kafka", b"wire", b"batch", b"record"]) for _ in range(30_000)),
    "just a block": _random.randbytes(65_536),
    "repeats over 64 KiB apart": _random.randbytes(70_000) * 2,
}


def _installed(codec: Codec) -> list[str]:
    """The implementations that can be tested; before Python 3.14 it has no zstd of its own."""
    return [name for name in CHOICES[codec].names if name != "compression.zstd" or sys.version_info >= (3, 14)]


def _use(monkeypatch: pytest.MonkeyPatch, codec: Codec, name: str) -> None:
    """Make `name` the implementation that is chosen, by hiding those before it."""
    choice = CHOICES[codec]
    before = choice.names[: choice.names.index(name)]
    hide(monkeypatch, *(module for other in before for module in PACKAGES.get(other, [other])))
    assert choice.name() == name


ALL = [(codec, name) for codec in CHOICES for name in _installed(codec)]
ALL_LZ4 = [choice for choice in ALL if choice[0] is Codec.LZ4]
ALL_ZSTD = [choice for choice in ALL if choice[0] is Codec.ZSTD]


@pytest.fixture(params=ALL, ids=str)
def chosen(request, monkeypatch):
    codec, name = request.param
    _use(monkeypatch, codec, name)
    yield codec
    monkeypatch.undo()
    accelerators.reset()


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("magic", [0, 1, 2])
def test_each_implementation_reads_its_own_and_the_best_ones_output(monkeypatch, chosen, sample, magic):
    own = compress(chosen, memoryview(sample), magic=magic)
    monkeypatch.undo()
    accelerators.reset()
    best = compress(chosen, sample, magic=magic)
    assert decompress(chosen, bytearray(own), limit=len(sample), magic=magic) == sample
    _use(monkeypatch, chosen, CHOICES[chosen].names[-1])
    assert decompress(chosen, memoryview(best), limit=len(sample), magic=magic) == sample


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
def test_each_implementation_reads_its_own_output(chosen, sample):
    assert decompress(chosen, compress(chosen, sample), limit=len(sample)) == sample


@pytest.mark.parametrize("size", [2, 1000, 200_000])
def test_trap_43_no_implementation_goes_over_the_limit(chosen, size):
    packed = compress(chosen, bytes(size))
    with pytest.raises(CorruptRecordsError, match="more than"):
        decompress(chosen, packed, limit=size - 1)


PEER_ENCODERS = {
    Codec.GZIP: gzip.compress,
    Codec.SNAPPY: kafka_python.snappy_encode,
    Codec.LZ4: kafka_python.lz4_encode,
    Codec.ZSTD: kafka_python.zstd_encode,
}
PEER_DECODERS = {
    Codec.GZIP: gzip.decompress,
    Codec.SNAPPY: kafka_python.snappy_decode,
    Codec.LZ4: kafka_python.lz4_decode,
    Codec.ZSTD: kafka_python.zstd_decode,
}


@pytest.mark.parametrize("codec", REAL)
@pytest.mark.parametrize("name", [name for name, sample in SAMPLES.items() if sample])
def test_a_peer_and_we_read_each_other(with_and_without, codec, name):
    sample = SAMPLES[name]
    assert decompress(codec, PEER_ENCODERS[codec](sample), limit=LIMIT) == sample
    assert bytes(PEER_DECODERS[codec](compress(codec, sample))) == sample


def test_trap_51_old_lz4_header_checksum_is_written_and_not_insisted_on(with_and_without):
    old, new = compress(Codec.LZ4, b"data", magic=0), compress(Codec.LZ4, b"data", magic=1)
    # A content checksum is the same hash, and there a library computes it.
    assert old[6] == lz4_frame.compress(old[:6], content_checksum=True)[-3], "with the frame's magic number"
    assert new[6] == lz4_frame.compress(new[4:6], content_checksum=True)[-3], "as the format has it"
    assert old[:6] + old[7:] == new[:6] + new[7:]
    assert decompress(Codec.LZ4, new, limit=9, magic=0) == b"data"
    with pytest.raises(CorruptRecordsError, match="checksum"):
        decompress(Codec.LZ4, old, limit=9, magic=1)


@pytest.mark.parametrize("chosen", ALL_LZ4, ids=str, indirect=True)
def test_trap_53_lz4_blocks_are_independent(chosen):
    sample = SAMPLES["repeats over 64 KiB apart"] * 3
    frame = compress(Codec.LZ4, sample)
    assert frame[4] & 0x20, "the flag says so"
    blocks = []
    at = 7
    while size := int.from_bytes(frame[at : at + 4], "little"):
        at += 4
        block = frame[at : at + (size & 0x7FFFFFFF)]
        blocks.append(block if size >> 31 else lz4_block.decompress(block, uncompressed_size=65536))
        at += len(block)
    assert b"".join(blocks) == sample, "and each block can be read alone"
    assert lz4_frame.decompress(frame) == sample


def test_trap_54_one_lz4_frame_is_written_and_several_are_read(with_and_without):
    sample = SAMPLES["words"]
    frame = compress(Codec.LZ4, sample)
    assert lz4_frame.get_frame_info(frame)["block_linked"] is False
    assert lz4_frame.LZ4FrameDecompressor().decompress(frame) == sample
    assert decompress(Codec.LZ4, frame + compress(Codec.LZ4, b"more"), limit=LIMIT) == sample + b"more"


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"block_linked": True, "block_size": lz4_frame.BLOCKSIZE_MAX64KB},
        {"content_checksum": True, "block_checksum": True},
        {"store_size": False},
        {"block_size": lz4_frame.BLOCKSIZE_MAX4MB, "block_linked": False},
        {"compression_level": 12},
    ],
    ids=str,
)
@pytest.mark.parametrize("chosen", ALL_LZ4, ids=str, indirect=True)
def test_trap_55_all_kinds_of_lz4_frames_are_read(chosen, options):
    for sample in SAMPLES.values():
        assert decompress(Codec.LZ4, lz4_frame.compress(sample, **options), limit=len(sample)) == sample


def test_trap_55_lz4_dictionaries_are_refused(with_and_without):
    frame = bytearray(compress(Codec.LZ4, b"data"))
    frame[4] |= 0x01
    with pytest.raises(CorruptRecordsError, match="dictionary"):
        decompress(Codec.LZ4, frame, limit=9)


def test_a_wrong_lz4_content_size_is_noticed(with_and_without):
    frame = bytearray(lz4_frame.compress(b"data", store_size=True))
    frame[6] += 1
    with pytest.raises(CorruptRecordsError, match="announces 5"):
        decompress(Codec.LZ4, frame, limit=9, magic=0)


def test_trap_56_snappy_is_framed_as_java_does_it(with_and_without):
    packed = compress(Codec.SNAPPY, SAMPLES["random"])
    assert packed[:16] == b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"
    size = int.from_bytes(packed[16:20], "big")
    assert python_snappy.uncompress(packed[20 : 20 + size]) == SAMPLES["random"][:32768]


def test_trap_56_raw_snappy_and_repeated_headers_are_read(with_and_without):
    sample = SAMPLES["words"]
    assert decompress(Codec.SNAPPY, python_snappy.compress(sample), limit=LIMIT) == sample
    twice = compress(Codec.SNAPPY, sample) + compress(Codec.SNAPPY, b"more")
    assert decompress(Codec.SNAPPY, twice, limit=LIMIT) == sample + b"more"


@pytest.mark.parametrize("size", [-1, -(1 << 31), 1000, (1 << 31) - 1])
def test_trap_56_snappy_chunk_sizes_are_bounded(with_and_without, size):
    packed = compress(Codec.SNAPPY, b"")[:16] + size.to_bytes(4, "big", signed=True) + b"\x01\x00a"
    with pytest.raises(CorruptRecordsError, match="snappy"):
        decompress(Codec.SNAPPY, packed, limit=LIMIT)


def test_trap_57_gzip_members_are_read_to_the_end():
    packed = gzip.compress(b"one,") + gzip.compress(b"") + gzip.compress(b"two")
    assert decompress(Codec.GZIP, packed, limit=7) == b"one,two"
    with pytest.raises(CorruptRecordsError):
        decompress(Codec.GZIP, packed, limit=6)


def test_trap_57_bare_zlib_is_not_gzip():
    with pytest.raises(CorruptRecordsError):
        decompress(Codec.GZIP, zlib.compress(b"data"), limit=9)


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=SAMPLES)
@pytest.mark.parametrize("chosen", ALL_ZSTD, ids=str, indirect=True)
def test_trap_58_zstd_frames_without_size_and_several_of_them(chosen, sample):
    stream = zstandard.ZstdCompressor(write_content_size=False, write_checksum=True).compressobj()
    first = stream.compress(sample) + stream.flush()
    skippable = (0x184D2A53).to_bytes(4, "little") + (3).to_bytes(4, "little") + b"abc"
    packed = first + skippable + compress(Codec.ZSTD, b"more")
    assert decompress(Codec.ZSTD, packed, limit=len(sample) + 4) == sample + b"more"
    with pytest.raises(CorruptRecordsError):
        decompress(Codec.ZSTD, packed, limit=len(sample) + 3)


@pytest.mark.parametrize(
    ("codec", "level"),
    [
        (Codec.GZIP, 0),
        (Codec.GZIP, 10),
        (Codec.GZIP, -2),
        (Codec.LZ4, 0),
        (Codec.LZ4, 18),
        (Codec.ZSTD, 23),
        (Codec.ZSTD, -131073),
        (Codec.SNAPPY, 1),
        (Codec.NONE, 1),
    ],
)
def test_trap_59_levels_out_of_range_are_refused(codec, level):
    with pytest.raises(ConfigurationError, match=codec.name.lower()):
        check_level(codec, level)
    with pytest.raises(ConfigurationError):
        compress(codec, b"data", level)


@pytest.mark.parametrize(
    ("codec", "levels"), [(Codec.GZIP, [-1, 1, 9]), (Codec.LZ4, [1, 9, 17]), (Codec.ZSTD, [-131072, -1, 0, 1, 22])]
)
def test_trap_59_all_levels_within_range_work(codec, levels):
    for name in _installed(codec) if codec in CHOICES else [None]:
        with pytest.MonkeyPatch.context() as monkeypatch:
            if name:
                _use(monkeypatch, codec, name)
            for level in levels:
                assert decompress(codec, compress(codec, b"data" * 500, level), limit=2000) == b"data" * 500
    accelerators.reset()


def test_codecs_by_name():
    assert [Codec.by_name(name) for name in ("none", "gzip", "snappy", "lz4", "zstd")] == list(Codec)
    with pytest.raises(ConfigurationError, match="'brotli'"):
        Codec.by_name("brotli")


def test_what_is_in_use_can_be_told(monkeypatch):
    assert available()[Codec.LZ4] == "lz4"
    hide(monkeypatch, *ACCELERATORS, "zstandard", "pyarrow", "compression.zstd")
    assert available() == {
        Codec.NONE: "none needed",
        Codec.GZIP: "zlib",
        Codec.SNAPPY: "pure Python",
        Codec.LZ4: "pure Python",
        Codec.ZSTD: None,
    }
    assert accelerators.in_use()["crc32c"] == "standard library"
    for call in (lambda: compress(Codec.ZSTD, b"data"), lambda: decompress(Codec.ZSTD, b"data", limit=9)):
        with pytest.raises(MissingDependencyError, match="pip install zstandard"):
            call()
    monkeypatch.undo()
    accelerators.reset()


@pytest.mark.parametrize("codec", REAL)
def test_truncation_at_every_byte_is_noticed(with_and_without, codec):
    packed = compress(codec, SAMPLES["words"][:2000])
    for size in range(len(packed)):
        try:
            out = decompress(codec, packed[:size], limit=2000)
        except CorruptRecordsError:
            continue
        assert codec is Codec.SNAPPY, "only xerial framing has no end"
        assert out == b""


@pytest.mark.parametrize("codec", REAL)
@given(data=st.data())
def test_damage_raises_one_error_or_is_harmless(codec, data):
    for name in _installed(codec) if codec in CHOICES else [None]:
        packed = bytearray(compress(codec, b"some words, some more words, some more"))
        at = data.draw(st.integers(0, len(packed) - 1))
        packed[at] = data.draw(st.integers(0, 255))
        with pytest.MonkeyPatch.context() as monkeypatch:
            if name:
                _use(monkeypatch, codec, name)
            with contextlib.suppress(CorruptRecordsError):
                assert len(decompress(codec, packed, limit=1000)) <= 1000
    accelerators.reset()


@given(st.binary(max_size=300), st.integers(1, 400))
def test_pure_blocks_are_read_by_the_libraries_and_back(data, times):
    sample = data * times
    block = sample[:65536]
    assert lz4_block.decompress(lz4_pure.compress_block(block), uncompressed_size=len(block)) == block
    assert lz4_pure.decompress_block(lz4_block.compress(block, store_size=False), len(block)) == block
    assert bytes(cramjam.snappy.decompress_raw(snappy_pure.compress_block(sample))) == sample
    packed = bytes(cramjam.snappy.compress_raw(sample))
    assert decompress(Codec.SNAPPY, packed, limit=len(sample)) == sample


BOMB = """
import resource, sys
from kafkawire.errors import CorruptRecordsError
from kafkawire.protocol.compression import Codec, compress, decompress
codec = Codec(int(sys.argv[1]))
bomb = sys.stdin.buffer.read()
decompress(codec, compress(codec, b"x"), limit=10)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    decompress(codec, bomb, limit=1_000_000)
except CorruptRecordsError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.parametrize("codec", REAL)
def test_trap_43_a_bomb_takes_no_more_memory_than_its_limit(codec):
    bomb = compress(codec, bytes(200_000_000))
    result = subprocess.run([sys.executable, "-c", BOMB, str(int(codec))], input=bomb, capture_output=True, check=True)
    kilobytes = int(result.stdout)
    assert kilobytes < 20_000, f"{kilobytes} kB for a limit of 1 MB"
