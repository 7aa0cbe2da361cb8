"""The record layer in a Python without any optional package; and importing it loads none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from tests import bare

ROUND_TRIP = """
from kafkawire.errors import MissingDependencyError
from kafkawire.protocol import records
from kafkawire.protocol.accelerators import in_use
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.murmur2 import murmur2_many

values = [b"value %d" % row * (row % 20) or None for row in range(500)]
for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
    parts = records.encode_columns(values, base_timestamp=1000)
    sealed = records.seal_batch(parts, count=500, base_timestamp=1000, max_timestamp=1000, codec=codec)
    columns = records.decode_columns(records.read_batches(memoryview(sealed)))
    assert isinstance(columns.offsets, list)
    assert records.values(columns) == values
    assert [m.offset for m in records.messages(columns, "t", 0)] == list(range(500))
assert murmur2_many([b"kafka"]) == [0xD067CF64 & 0x7FFFFFFF]
"""

NOTHING_LEFT = """
for call in (lambda: records.seal_batch([], count=0, base_timestamp=0, max_timestamp=0, codec=Codec.ZSTD),
             lambda: records.to_arrow(columns, "t", 0)):
    try:
        call()
    except MissingDependencyError as error:
        print(error)
assert {"pure Python", "standard library", None} == set(in_use().values()) - {"compression.zstd"}, in_use()
"""

ARROW_WITHOUT_NUMPY = """
import pyarrow
batch = records.to_arrow(columns, "t", 3)
assert batch.schema == records.arrow_schema()
assert batch.column("value").to_pylist() == values
assert batch.column("offset").to_pylist() == list(range(500))
"""


ROOT = Path(__file__).parents[2]


def run(source: str, hidden: Iterable[str] = ()) -> str:
    source = f"import sys; from tests import bare; bare.hide({set(hidden)})\n{source}"
    command = [sys.executable, "-c", source]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60, cwd=ROOT).stdout


def test_everything_but_zstd_and_arrow_works_without_any_package():
    told = run(ROUND_TRIP + NOTHING_LEFT, bare.OPTIONAL)
    assert "pip install kafkawire[arrow]" in told
    if sys.version_info < (3, 14):
        assert "pip install zstandard" in told


def test_arrow_works_without_numpy():
    run(ROUND_TRIP + ARROW_WITHOUT_NUMPY, ["numpy"])


def test_importing_loads_no_optional_package():
    loaded = run("import kafkawire.protocol.records, kafkawire.protocol.murmur2; print(*sys.modules)").split()
    assert not {name.partition(".")[0] for name in loaded} & bare.OPTIONAL


def test_trap_59_a_codec_that_cannot_be_used_is_noticed_when_a_producer_is_made():
    run(
        """
from kafkawire import Producer
from kafkawire.errors import MissingDependencyError
for codec in ("gzip", "snappy", "lz4"):
    Producer(compression_type=codec).close()
try:
    Producer(compression_type="zstd").close()
except MissingDependencyError as error:
    assert "pip install zstandard" in str(error)
else:
    assert sys.version_info >= (3, 14)
""",
        bare.OPTIONAL,
    )
