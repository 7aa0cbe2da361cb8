"""Options as they are given, in either of their names."""

from __future__ import annotations

import pytest

from kafkawire.config import ConsumerOptions, ProducerOptions, from_properties, parse_servers, resolve
from kafkawire.errors import ConfigurationError


@pytest.mark.parametrize(
    ("given", "parsed"),
    [
        ("a:1", [("a", 1)]),
        ("a:1, b:2 ,c:3", [("a", 1), ("b", 2), ("c", 3)]),
        ("a:1, b:2, ", [("a", 1), ("b", 2)]),
        (["a:1", "b:2"], [("a", 1), ("b", 2)]),
        ("[::1]:9092,[2001:db8::1]:65535", [("::1", 9092), ("2001:db8::1", 65535)]),
        ("host.example.:9092", [("host.example.", 9092)]),
    ],
)
def test_servers(given, parsed):
    assert parse_servers(given) == parsed


@pytest.mark.parametrize(
    "given", ["a", "a:", ":1", "a:b", "", ",", "a:65536", "::1:9092", "[::1]", "a:-1", "a:²", [], [1]], ids=str
)
def test_servers_that_are_none(given):
    with pytest.raises(ConfigurationError, match="bootstrap_servers"):
        parse_servers(given)


def test_properties_are_parsed_like_a_properties_file():
    given = {
        "bootstrap.servers": "a:1",
        "linger.ms": "7",
        "acks": "-1",
        "enable.idempotence": "FALSE",
        "compression.type": "lz4",
        "batch.size": 5,
    }
    options = resolve(ProducerOptions, from_properties(ProducerOptions, given))
    assert options["linger_ms"] == 7
    assert options["acks"] == -1
    assert options["enable_idempotence"] is False
    assert options["compression_type"] == "lz4"
    assert options["batch_size"] == 5
    assert resolve(ProducerOptions, from_properties(ProducerOptions, {"acks": "all"}))["acks"] == "all"


def test_defaults_are_kafkas():
    producer = resolve(ProducerOptions, {})
    assert (producer["acks"], producer["linger_ms"], producer["delivery_timeout_ms"]) == ("all", 5, 120_000)
    consumer = resolve(ConsumerOptions, {})
    assert (consumer["auto_offset_reset"], consumer["max_poll_records"]) == ("latest", 500)
