"""Names of the options of other clients, asked of the clients themselves: "P" for their producer, "C" for their consumer."""

from __future__ import annotations

import ctypes
import inspect
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests import requirements
from tests.protocol.java_client import JavaClient
from tests.real.releases import RELEASES

__all__ = ["PEERS", "aiokafka", "java", "kafka_python", "librdkafka"]


def java(side: str) -> list[str]:
    """Names in Kafka's own client; "A" for its admin client."""
    config = {"P": "producer.ProducerConfig", "C": "consumer.ConsumerConfig", "A": "admin.AdminClientConfig"}
    with JavaClient(next(iter(RELEASES))) as client:
        return sorted(client.option_names(config[side]))


def librdkafka(side: str) -> list[str]:
    """Names in the table that the library itself prints of its options."""
    package = Path(str(requirements.peer("confluent_kafka").__file__)).parent
    library = ctypes.CDLL(str(next(package.with_name("confluent_kafka.libs").glob("librdkafka*"))))
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "options")
        file = ctypes.c_void_p(libc.fopen(str(path).encode(), b"w"))
        library.rd_kafka_conf_properties_show(file)
        libc.fclose(file)
        rows = [[cell.strip() for cell in line.split("|")] for line in path.read_text().splitlines() if "|" in line]
    return sorted({name for name, where, *_ in rows if where in (side, "*")})


def kafka_python(side: str) -> list[str]:
    package = requirements.peer("kafka")
    return sorted((package.KafkaProducer if side == "P" else package.KafkaConsumer).DEFAULT_CONFIG)


def aiokafka(side: str) -> list[str]:
    package = requirements.peer("aiokafka")
    return sorted(inspect.signature(package.AIOKafkaProducer if side == "P" else package.AIOKafkaConsumer).parameters)


PEERS: Mapping[str, Callable[[str], list[str]]] = {
    "Java": java,
    "librdkafka": librdkafka,
    "kafka-python": kafka_python,
    "aiokafka": aiokafka,
}
