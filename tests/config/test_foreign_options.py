"""Users of other clients give the options that they know: each is ours too, or the error says what to do instead."""

from __future__ import annotations

import re

import pytest

import kafkawire
from kafkawire.config import ConsumerOptions, ProducerOptions, declared, from_properties, resolve
from kafkawire.errors import ConfigurationError


class Nothing:
    """A value that no option has."""


def advice_on(kind, name):
    """Error message of an option; "" if kafkawire has the option."""
    if name.replace(".", "_") in declared(kind):
        return ""
    with pytest.raises(ConfigurationError) as caught:
        resolve(kind, from_properties(kind, {name: Nothing}) if "." in name else {name: Nothing})
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("api_version", "not needed: each broker is asked which versions it speaks"),
        ("ssl_crlfile", "use ssl_context (a context with load_verify_locations() of the list and VERIFY_CRL_CHECK_LEAF)"),
        ("send_buffer_bytes", "not needed: the system sizes socket buffers"),
        ("session_timeout_ms", "consumer groups are not in this release yet"),
        ("heartbeat_interval_ms", "consumer groups are not in this release yet"),
        ("sasl_mechanism", "SASL is not in this release yet"),
        ("queue_buffering_max_messages", "use buffer_memory (in bytes, not messages)"),
        ("linger_ms", "it is an option of Producer"),
        ("fetch_min_byte", "did you mean 'fetch_min_bytes'?"),
    ],
)
def test_what_is_said_of_an_option(name, text):
    assert advice_on(ConsumerOptions, name) == f"unknown option '{name}': {text}"


def test_properties_are_named_with_dots():
    assert advice_on(ProducerOptions, "queue.buffering.max.ms") == "unknown property 'queue.buffering.max.ms': use linger.ms"
    assert advice_on(ProducerOptions, "linger.mss") == "unknown property 'linger.mss': did you mean 'linger.ms'?"
    with pytest.raises(ConfigurationError, match=r"'linger.ms': .*underscores for dots; from_properties\(\)"):
        resolve(ProducerOptions, {"linger.ms": 5})


@pytest.mark.parametrize(
    ("kind", "given", "meant"),
    [
        (ProducerOptions, {"compression_type": None}, {"compression_type": "none"}),
        (ProducerOptions, {"compression_type": "LZ4"}, {"compression_type": "lz4"}),
        (ProducerOptions, {"client_id": None}, {"client_id": "kafkawire"}),
        (ProducerOptions, {"security_protocol": "plaintext"}, {"security_protocol": "PLAINTEXT"}),
        (ProducerOptions, {"security_protocol": "Ssl"}, {"security_protocol": "SSL"}),
        (ProducerOptions, {"partitioner": "murmur2_random"}, {"partitioner": "murmur2"}),
        (ProducerOptions, {"retries": float("inf")}, {"retries": 2**31 - 1}),
        (ProducerOptions, {"max_block_ms": float("inf")}, {"max_block_ms": 2**31 - 1}),
        (ProducerOptions, {"acks": "ALL"}, {"acks": "all"}),
        (ProducerOptions, {"acks": "1"}, {"acks": 1}),
        (ProducerOptions, {"transactional_id": None}, {"transactional_id": None}),
        (ProducerOptions, {"api_version": None, "sasl_mechanism": None}, {}),
        (ConsumerOptions, {"group_id": None, "enable_auto_commit": False}, {"group_id": None, "enable_auto_commit": False}),
        (ConsumerOptions, {"isolation_level": "READ_UNCOMMITTED"}, {"isolation_level": "read_uncommitted"}),
        (ConsumerOptions, {"consumer_timeout_ms": float("inf")}, {"consumer_timeout_ms": None}),
        (ConsumerOptions, {"consumer_timeout_ms": -1}, {"consumer_timeout_ms": None}),
        (ConsumerOptions, {"auto_offset_reset": "smallest"}, {"auto_offset_reset": "earliest"}),
        (ConsumerOptions, {"auto_offset_reset": "beginning"}, {"auto_offset_reset": "earliest"}),
        (ConsumerOptions, {"auto_offset_reset": "largest"}, {"auto_offset_reset": "latest"}),
        (ConsumerOptions, {"auto_offset_reset": "end"}, {"auto_offset_reset": "latest"}),
        (ConsumerOptions, {"auto_offset_reset": "error"}, {"auto_offset_reset": "none"}),
    ],
    ids=str,
)
def test_values_that_mean_ours_are_taken(kind, given, meant):
    assert resolve(kind, given) == resolve(kind, {}) | meant


@pytest.mark.parametrize(
    ("kind", "given", "text"),
    [
        (
            ConsumerOptions,
            {"group_id": "g"},
            "group_id: consumer groups are not in this release yet, so it can only be None, not 'g'",
        ),
        (ConsumerOptions, {"enable_auto_commit": True}, "consumer groups are not in this release yet"),
        (ConsumerOptions, {"enable_auto_commit": 0}, "it can only be False, not 0"),
        (ConsumerOptions, {"isolation_level": "read_committed"}, "transactions are not in this release yet"),
        (ProducerOptions, {"transactional_id": "t"}, "transactions are not in this release yet"),
        (ProducerOptions, {"security_protocol": "SASL_PLAINTEXT"}, "SASL is not in this release yet"),
        (ProducerOptions, {"acks": True}, "True is not one of"),
        (ProducerOptions, {"acks": 2}, "2 is not one of"),
        (ProducerOptions, {"retries": float("nan")}, "nan is not int"),
        (ProducerOptions, {"compression_type": ["lz4"]}, "is not one of"),
        (ProducerOptions, {"key_serializer": 5}, "5 is not callable"),
    ],
    ids=str,
)
def test_values_that_mean_more_are_refused(kind, given, text):
    with pytest.raises(ConfigurationError, match=re.escape(text)):
        resolve(kind, given)


def test_properties_mean_the_same():
    given = {"acks": "1", "compression.type": "GZIP", "security.protocol": "plaintext", "transactional.id": None}
    options = resolve(ProducerOptions, from_properties(ProducerOptions, given))
    assert (options["acks"], options["compression_type"], options["security_protocol"]) == (1, "gzip", "PLAINTEXT")
    given = {"enable.auto.commit": "false", "isolation.level": "read_uncommitted", "group.id": None}
    assert resolve(ConsumerOptions, from_properties(ConsumerOptions, given)) == resolve(ConsumerOptions, {})


def test_servers_are_named_once():
    with pytest.raises(ConfigurationError, match="given twice"):
        kafkawire.Connection("a:1", bootstrap_servers="b:2")
