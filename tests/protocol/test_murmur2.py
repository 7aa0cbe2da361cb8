"""Murmur2: the Java client's vectors, a peer, and the vectorised way against the plain one (trap 116)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.protocol.murmur2 import murmur2, murmur2_many
from tests.protocol.optional import with_and_without
from tests.protocol.record_peers import kafka_python_partitioner

__all__ = ["with_and_without"]

# From UtilsTest.java of Kafka's clients, and two of librdkafka's, before the sign bit is dropped.
VECTORS = [
    (b"21", -973932308),
    (b"foobar", -790332482),
    (b"a-little-bit-long-string", -985981536),
    (b"a-little-bit-longer-string", -1486304829),
    (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    (b"abc", 479470107),
    (b"", 0x106E08D9),
    (b"kafka", 0xD067CF64),
]


@pytest.mark.parametrize(("key", "expected"), VECTORS)
def test_trap_116_java_vectors(with_and_without, key, expected):
    assert murmur2(key) == expected & 0x7FFFFFFF
    assert murmur2_many([key] * 3) == [expected & 0x7FFFFFFF] * 3


@given(st.binary(max_size=100))
def test_trap_116_same_as_a_peer(key):
    assert murmur2(key) == kafka_python_partitioner.murmur2(key) & 0x7FFFFFFF


@given(st.lists(st.binary(max_size=40)))
def test_many_are_hashed_as_one_is(keys):
    assert murmur2_many(keys) == [murmur2(key) for key in keys]


def test_keys_of_one_length_are_hashed_as_one_is(with_and_without):
    for length in range(20):
        keys = [bytes((start + step * 7) % 256 for step in range(length)) for start in range(50)]
        assert murmur2_many(keys) == [murmur2(key) for key in keys]
