"""Every option of the clients that are installed is known here, so that a new one is noticed."""

from __future__ import annotations

import re

import pytest

from kafkawire.config import ConnectionOptions, ConsumerOptions, ProducerOptions
from tests.config.peer_options import aiokafka, java, kafka_python, librdkafka
from tests.config.test_foreign_options import advice_on

pytestmark = pytest.mark.filterwarnings(r"ignore:\w+_text is deprecated:DeprecationWarning")  # kafka-python, when imported

KINDS = {"P": ProducerOptions, "C": ConsumerOptions}
HINT = re.compile(
    r"unknown (option|property) '[\w.]+': "
    r"(use |not needed: |wrap |give |bind |let |name |it is an option of \w+$|[\w' ]+ (is|are) not in this release yet$)"
)


def unexplained(kind, names):
    said = {name: advice_on(kind, name) for name in names}
    return {name: text for name, text in said.items() if text and (not HINT.match(text) or "did you mean" in text)}


@pytest.mark.parametrize("side", KINDS)
def test_every_option_of_kafka_python_is_known(side):
    names = kafka_python(side)
    assert len(names) > 50
    assert not unexplained(KINDS[side], names)


@pytest.mark.parametrize("side", KINDS)
def test_every_option_of_aiokafka_is_known(side):
    names = aiokafka(side)
    assert len(names) > 20
    assert not unexplained(KINDS[side], names)


@pytest.mark.parametrize("side", KINDS)
def test_every_option_of_librdkafka_is_known(side):
    names = librdkafka(side)
    assert len(names) > 100
    names += ["logger", "on_delivery", "on_commit", "oauth_cb", "default.topic.config"]  # of confluent_kafka itself
    assert not unexplained(KINDS[side], names)


@pytest.mark.real
def test_every_option_of_the_java_client_is_known():
    names = {kind: java(side) for side, kind in (*KINDS.items(), ("A", ConnectionOptions))}
    assert all(len(found) > 80 for found in names.values())
    assert not {kind: found for kind in names if (found := unexplained(kind, names[kind]))}
