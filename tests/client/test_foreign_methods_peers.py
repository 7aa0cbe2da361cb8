"""Every method of the clients that are installed is there or explained, so that a new one is noticed."""

from __future__ import annotations

import inspect
import re

import pytest

import kafkawire.aio
from kafkawire.aio.producer import Delivery as AsyncDelivery
from kafkawire.producer import BatchDelivery, Delivery
from tests import requirements
from tests.client.test_foreign_methods import said_of

pytestmark = pytest.mark.filterwarnings(r"ignore:\w+_text is deprecated:DeprecationWarning")  # kafka-python, when imported

PEERS = [
    ("kafka", "KafkaProducer", "Producer"),
    ("kafka", "KafkaConsumer", "Consumer"),
    ("aiokafka", "AIOKafkaProducer", "Producer"),
    ("aiokafka", "AIOKafkaConsumer", "Consumer"),
    ("confluent_kafka", "Producer", "Producer"),
    ("confluent_kafka", "Consumer", "Consumer"),
    ("confluent_kafka.aio", "AIOProducer", "Producer"),
    ("confluent_kafka.aio", "AIOConsumer", "Consumer"),
]
"""Module, its class, ours."""

ADVICE = re.compile(r"^\w+ has no '\w+': .{8,}")


def methods(kind):
    return [name for name, _ in inspect.getmembers(kind, callable) if not name.startswith("_")]


@pytest.mark.parametrize(("module", "theirs", "ours"), PEERS)
@pytest.mark.parametrize("face", [kafkawire, kafkawire.aio], ids=lambda face: face.__name__)
def test_every_method_of_the_others_is_there_or_explained(module, theirs, ours, face):
    kind = getattr(face, ours)
    names = methods(getattr(requirements.peer(module), theirs))
    unknown = [name for name in names if not hasattr(kind, name) and not ADVICE.match(said_of(kind, name))]
    assert len(names) > 10
    assert not unknown


@pytest.mark.parametrize(
    "kind", [Delivery, BatchDelivery, AsyncDelivery], ids=lambda kind: f"{kind.__module__}.{kind.__name__}"
)
def test_every_method_of_other_futures_is_there_or_explained(kind):
    names = [*methods(requirements.peer("kafka.producer.future").FutureRecordMetadata), "add_done_callback", "cancel", "result"]
    left_out = {"args", "rebind", "success", "failure", "error_on_callbacks"}  # for the producer, not for its users
    assert not [n for n in names if n not in left_out and not hasattr(kind, n) and not ADVICE.match(said_of(kind, n))]


def test_every_part_of_other_messages_is_there_or_explained():
    message = kafkawire.Message("t", 0, 5, 1, 0, None, b"v")
    record = requirements.peer("kafka.consumer.fetcher").ConsumerRecord._fields
    report = requirements.peer("kafka.producer.future").RecordMetadata._fields
    metadata = kafkawire.RecordMetadata("t", 0, 5, 1)
    for value, names in ((message, [*record, "error", "latency"]), (metadata, [*report, "key", "value", "error", "latency"])):
        for name in names:
            if not hasattr(value, name):
                assert ADVICE.match(said_of(value, name)), name
