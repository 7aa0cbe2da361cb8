"""The record layer in a Python without any optional package; and importing it loads none."""

from __future__ import annotations

import subprocess
import sys

BLOCK = """
import sys
BLOCKED = {names!r}
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in BLOCKED:
            raise ModuleNotFoundError(f"{{name}} is blocked", name=name)
sys.meta_path.insert(0, Block())
"""

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
assert "numpy" not in sys.modules
batch = records.to_arrow(columns, "t", 3)
assert batch.schema == records.arrow_schema()
assert batch.column("value").to_pylist() == values
assert batch.column("offset").to_pylist() == list(range(500))
"""

OPTIONAL = ("numpy", "pyarrow", "crc32c", "snappy", "lz4", "cramjam", "zstandard")


def run(source: str) -> str:
    return subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60).stdout


def test_everything_but_zstd_and_arrow_works_without_any_package():
    told = run(BLOCK.format(names=OPTIONAL) + ROUND_TRIP + NOTHING_LEFT)
    assert "pip install kafkawire[arrow]" in told
    if sys.version_info < (3, 14):
        assert "pip install zstandard" in told


def test_arrow_works_without_numpy():
    run(BLOCK.format(names=("numpy",)) + ROUND_TRIP + ARROW_WITHOUT_NUMPY)


def test_importing_loads_no_optional_package():
    loaded = run("import sys, kafkawire.protocol.records, kafkawire.protocol.murmur2; print(*sys.modules)").split()
    assert not {name.partition(".")[0] for name in loaded} & set(OPTIONAL)
