"""Messages to bytes and back, by every codec for Python: Metadata, Fetch and Produce, partitions a second.

Each side decodes the same bytes to its own message objects, and encodes what it has decoded; none of them puts off a part of
the work. The versions are the highest that all know, and the newest, which aiokafka does not know.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

from bench.harness import Contender, Job, Row, Sample, processor_time

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Message

__all__ = ["ROWS"]

PARTITIONS_PER_TOPIC = 10
RECORDS = os.urandom(1000)
"""Of each partition of a Fetch response and a Produce request."""

VERSIONS = {
    "MetadataResponse": (5, 13),
    "FetchRequest": (11, 18),
    "FetchResponse": (11, 18),
    "ProduceRequest": (8, 13),
    "ProduceResponse": (8, 13),
}
MODULES = {"Metadata": ("metadata", "metadata"), "Fetch": ("consumer", "fetch"), "Produce": ("producer", "produce")}
"""Modules of kafka-python and aiokafka that have the classes."""
TIMES = {1: 10_000, 1_000: 24, 10_000: 4}
"""By number of partitions: so that kafkawire takes about 30 ms."""


def kafkawire(job: Job) -> Sample:
    from kafkawire import protocol

    return _timed(job, partial(protocol.decode, _declared(job), job.version), partial(protocol.encode, version=job.version))


def kafka_python(job: Job) -> Sample:
    with warnings.catch_warnings():
        # It loads its schemas by a deprecated call of importlib.
        warnings.simplefilter("ignore", DeprecationWarning)
        module = import_module(f"kafka.protocol.{MODULES[_api(job)][0]}")
    cls = getattr(module, job.message)[job.version]
    return _timed(job, cls.decode, lambda message: message.encode())


def aiokafka(job: Job) -> Sample:
    module = import_module(f"aiokafka.protocol.{MODULES[_api(job)][1]}")
    cls = getattr(module, f"{job.message}_v{job.version}")
    return _timed(job, cls.decode, lambda message: message.encode())


def kio(job: Job) -> Sample:
    from kio.index import load_request_schema, load_response_schema
    from kio.serial import entity_reader, entity_writer

    load = load_request_schema if job.message.endswith("Request") else load_response_schema
    cls = load(_declared(job).key, job.version)
    read, write = entity_reader(cls), entity_writer(cls)

    def encode(message: Any) -> bytes:
        written = BytesIO()
        write(written, message)
        return written.getvalue()

    return _timed(job, lambda body: read(body, 0)[0], encode)


def _timed(job: Job, decode: Callable[[bytes], Any], encode: Callable[[Any], bytes]) -> Sample:
    body = _body(job.message, job.version, job.partitions)
    message = decode(body)
    if encode(message) != body:
        raise ValueError("other bytes come out than were put in")
    call = partial(encode, message) if job.encode else partial(decode, body)
    return Sample(job.count * job.partitions, processor_time(call, job.count))


def _api(job: Job) -> str:
    return job.message.removesuffix("Request").removesuffix("Response")


def _declared(job: Job) -> type[Message]:
    from kafkawire import protocol

    return (protocol.request if job.message.endswith("Request") else protocol.response)(_api(job))


@cache
def _body(message: str, version: int, partitions: int) -> bytes:
    """A message of 10 partitions a topic, as a broker or a client would have it."""
    from kafkawire import protocol

    count = min(partitions, PARTITIONS_PER_TOPIC)
    topics = [
        {"topic_id": os.urandom(16)} if version >= 13 else {"name": f"flights-{number}"}
        for number in range(partitions // count)
    ]
    return protocol.encode(MAKERS[message](topics, count), version)


def _metadata_response(topics: list[dict[str, Any]], count: int) -> Message:
    from kafkawire.protocol.messages.metadata import MetadataResponse as Response

    brokers = [Response.Broker(node_id=i, host=f"broker-{i}.example.com", port=9092, rack="a") for i in range(10)]
    partitions = [
        Response.Topic.Partition(
            partition_index=i, leader_id=i, replica_nodes=[i, i + 1, i + 2], isr_nodes=[i, i + 1, i + 2], offline_replicas=[]
        )
        for i in range(count)
    ]
    named = [{"name": f"flights-{number}", **topic} for number, topic in enumerate(topics)]
    found = [Response.Topic(partitions=partitions, **topic) for topic in named]
    return Response(brokers=brokers, cluster_id="o2YaVyDeQ7Wjrx_wsWGXTg", controller_id=1, topics=found)


def _fetch_request(topics: list[dict[str, Any]], count: int) -> Message:
    from kafkawire.protocol.messages.fetch import FetchRequest as Request

    partitions = [
        Request.Topic.Partition(partition=i, current_leader_epoch=7, fetch_offset=123_456_789, partition_max_bytes=1 << 20)
        for i in range(count)
    ]
    wanted = [Request.Topic(partitions=partitions, **_of_fetch(topic)) for topic in topics]
    return Request(max_wait_ms=500, min_bytes=1, max_bytes=50 << 20, isolation_level=1, topics=wanted)


def _fetch_response(topics: list[dict[str, Any]], count: int) -> Message:
    from kafkawire.protocol.messages.fetch import FetchResponse as Response

    topic_class = Response.FetchableTopicResponse
    partitions = [
        topic_class.PartitionData(
            partition_index=i, high_watermark=1000, last_stable_offset=1000, aborted_transactions=[], records=RECORDS
        )
        for i in range(count)
    ]
    return Response(session_id=1, responses=[topic_class(partitions=partitions, **_of_fetch(topic)) for topic in topics])


def _of_fetch(topic: dict[str, Any]) -> dict[str, Any]:
    """Fetch calls the name otherwise."""
    return {"topic": topic["name"]} if "name" in topic else topic


def _produce_request(topics: list[dict[str, Any]], count: int) -> Message:
    from kafkawire.protocol.messages.produce import ProduceRequest as Request

    data = [Request.TopicProduceData.PartitionProduceData(index=i, records=RECORDS) for i in range(count)]
    return Request(
        acks=-1, timeout_ms=30_000, topic_data=[Request.TopicProduceData(partition_data=data, **topic) for topic in topics]
    )


def _produce_response(topics: list[dict[str, Any]], count: int) -> Message:
    from kafkawire.protocol.messages.produce import ProduceResponse as Response

    topic_class = Response.TopicProduceResponse
    partitions = [topic_class.PartitionProduceResponse(index=i, base_offset=1000, log_start_offset=0) for i in range(count)]
    return Response(responses=[topic_class(partition_responses=partitions, **topic) for topic in topics])


MAKERS: dict[str, Callable[[list[dict[str, Any]], int], Message]] = {
    "MetadataResponse": _metadata_response,
    "FetchRequest": _fetch_request,
    "FetchResponse": _fetch_response,
    "ProduceRequest": _produce_request,
    "ProduceResponse": _produce_response,
}


def _contenders(version: int, shared: int) -> list[Contender]:
    peers = [Contender("kafka-python", kafka_python, "kafka", share=0.5, goal=1.0, aim=1.3)]
    if version == shared:
        peers.append(Contender("aiokafka", aiokafka, "aiokafka", share=0.25, goal=1.0, aim=1.3))
    return [Contender("kafkawire", kafkawire), *peers, Contender("kio", kio, "kio", share=0.5)]


def _title(message: str, version: int, partitions: int) -> str:
    return f"{message} v{version}, {partitions:,} partition" + ("" if partitions == 1 else "s")


ROWS = [
    Row(
        "messages",
        _title(message, version, partitions) + (": encode" if encode else ": decode"),
        Job(TIMES[partitions], partitions=partitions, message=message, version=version, encode=encode),
        _contenders(version, versions[0]),
        together=True,
    )
    for message, versions in VERSIONS.items()
    for version in versions
    for partitions in ([1_000, 10_000] if message == "MetadataResponse" else [1, 1_000])
    for encode in (False, True)
]
