"""Partitioners: where records with and without a key go."""

from __future__ import annotations

from zlib import crc32

from kafkawire.protocol.murmur2 import murmur2
from tests.client.faces import SOON

KEYS = [b"", b"kafka", b"21", b"foobar", b"a-little-bit-long-string", b"a-little-bit-longer-string", b"AA", "ключ".encode()]


def test_keys_go_where_java_sends_them(face, kafka):
    assert [murmur2(key) for key in (b"", b"kafka")] == [0x106E08D9, 0xD067CF64 & 0x7FFFFFFF]
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        single = [p.send("many", b"v", key).result(timeout=SOON).partition for key in KEYS]
        many = [m.partition for m in p.send_many("many", [b"v"] * len(KEYS), KEYS).result(timeout=SOON)]
    assert single == many == [murmur2(key) % 4 for key in KEYS]


def test_a_partitioner_of_ones_own(face, kafka):
    asked = []

    def last(key, partitions):
        asked.append((key, partitions))
        return partitions - 1

    with face.Producer(bootstrap_servers=kafka.bootstrap, partitioner=last) as p:
        p.send("many", b"v")
        p.send("many", b"v", b"key")
        p.send("many", b"v", partition=0)
        p.send_many("many", [b"v", b"v"], [None, b"key"])
        p.flush(timeout=SOON)
    assert len(kafka.messages("many", 3)) == 4
    assert asked == [(None, 4), (b"key", 4)] * 2


def test_librdkafkas_partitioner(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, partitioner="consistent") as p:
        assert [p.send("many", b"v", key).result(timeout=SOON).partition for key in KEYS] == [crc32(key) % 4 for key in KEYS]


def test_records_without_key_stay_together_and_move_on(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        rounds = []
        for _ in range(5):
            deliveries = [p.send("many", b"v") for _ in range(10)]
            p.flush(timeout=SOON)
            rounds.append({d.result().partition for d in deliveries})
    assert all(len(partitions) == 1 for partitions in rounds)
    assert len(set.union(*rounds)) == 4
