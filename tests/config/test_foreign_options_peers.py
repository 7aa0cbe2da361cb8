"""Every option of the clients that are installed is known here, so that a new one is noticed."""

from __future__ import annotations

import ctypes
import inspect
import re
from pathlib import Path

import pytest

from kafkawire.config import ConnectionOptions, ConsumerOptions, ProducerOptions
from tests import requirements
from tests.config.test_foreign_options import advice_on
from tests.protocol.java_client import JavaClient
from tests.real.releases import RELEASES

pytestmark = pytest.mark.filterwarnings(r"ignore:\w+_text is deprecated:DeprecationWarning")  # kafka-python, when imported

KINDS = {"P": ProducerOptions, "C": ConsumerOptions}
HINT = re.compile(
    r"unknown (option|property) '[\w.]+': "
    r"(use |not needed: |wrap |give |bind |let |name |it is an option of \w+$|[\w' ]+ (is|are) not in this release yet$)"
)


def unexplained(kind, names):
    said = {name: advice_on(kind, name) for name in names}
    return {name: text for name, text in said.items() if text and (not HINT.match(text) or "did you mean" in text)}


@pytest.mark.parametrize(
    ("theirs", "kind"), [("KafkaProducer", ProducerOptions), ("KafkaConsumer", ConsumerOptions)], ids=["producer", "consumer"]
)
def test_every_option_of_kafka_python_is_known(theirs, kind):
    names = getattr(requirements.peer("kafka"), theirs).DEFAULT_CONFIG
    assert len(names) > 50
    assert not unexplained(kind, names)


@pytest.mark.parametrize(
    ("theirs", "kind"),
    [("AIOKafkaProducer", ProducerOptions), ("AIOKafkaConsumer", ConsumerOptions)],
    ids=["producer", "consumer"],
)
def test_every_option_of_aiokafka_is_known(theirs, kind):
    names = inspect.signature(getattr(requirements.peer("aiokafka"), theirs)).parameters
    assert len(names) > 20
    assert not unexplained(kind, names)


@pytest.mark.parametrize("side", ["P", "C"])
def test_every_option_of_librdkafka_is_known(tmp_path, side):
    names = librdkafka_options(tmp_path / "shown", side)
    assert len(names) > 100
    names += ["logger", "on_delivery", "on_commit", "oauth_cb", "default.topic.config"]  # of confluent_kafka itself
    assert not unexplained(KINDS[side], names)


def librdkafka_options(path, side):
    """Names of the table that the library itself prints of its options, for producers or for consumers."""
    package = Path(str(requirements.peer("confluent_kafka").__file__)).parent
    library = ctypes.CDLL(str(next(package.with_name("confluent_kafka.libs").glob("librdkafka*"))))
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    file = ctypes.c_void_p(libc.fopen(str(path).encode(), b"w"))
    library.rd_kafka_conf_properties_show(file)
    libc.fclose(file)
    rows = [[cell.strip() for cell in line.split("|")] for line in path.read_text().splitlines() if "|" in line]
    return [name for name, where, *_ in rows if where in (side, "*")]


@pytest.mark.real
def test_every_option_of_the_java_client_is_known():
    with JavaClient(next(iter(RELEASES))) as java:
        names = {
            kind: java.option_names(of)
            for kind, of in (
                (ProducerOptions, "producer.ProducerConfig"),
                (ConsumerOptions, "consumer.ConsumerConfig"),
                (ConnectionOptions, "admin.AdminClientConfig"),
            )
        }
    assert all(len(found) > 80 for found in names.values())
    assert not {kind: found for kind in names if (found := unexplained(kind, names[kind]))}
