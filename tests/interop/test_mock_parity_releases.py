"""The mock of an older release answers as that release does: the same raw requests to both, compared field by field."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import MockCluster
from tests.interop.parity import assert_same_answers, request
from tests.mockbroker.raw import batch, produce_request
from tests.real.broker import SINGLE_BROKER

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.interop.parity import Broker
    from tests.real.broker import RealKafka

pytestmark = [pytest.mark.real, pytest.mark.heavy]

RELEASES = ["0.11.0.3", "1.1.1", "2.8.2", "3.9.1"]


def topic_configs(broker: Broker, name: str) -> None:
    make(broker, name)
    for asked in (name, name + "-no"):
        resource = {"resourceType": 2, "resourceName": asked, "configurationKeys": None}
        broker.ask(request("DescribeConfigs", resources=[resource]), 0)
    resource = {"resourceType": 4, "resourceName": "", "configurationKeys": None}
    broker.ask(request("DescribeConfigs", resources=[resource]), 0)
    for config, value in (("segment.bytes", "13"), ("segment.bytes", "14"), ("compression.type", "zstd"), ("no.such", "1")):
        settings = [{"name": config, "value": value}]
        asked_topic = {"name": name + "-2", "numPartitions": 1, "replicationFactor": 1, "configs": settings}
        answer = broker.do(request("CreateTopics", topics=[asked_topic], timeoutMs=10000, validateOnly=True), 1)
        # Refused or not: releases before 2.0 have another code for it than the mock.
        broker.answers.append((f"{config}={value}", answer.topics[0].error_code != 0))


def broken_records(broker: Broker, name: str) -> None:
    make(broker, name)
    for records in (batch(b"a"), batch(b"a") + batch(b"b"), b"", bytes(batch(b"a"))[:-1] + b"x"):
        for acks in (-1, 5):
            broker.ask(produce_request(records, topic=name, acks=acks), 3)


def make(broker: Broker, name: str) -> None:
    asked = {"name": name, "numPartitions": 1, "replicationFactor": 1}
    assert broker.do(request("CreateTopics", topics=[asked], timeoutMs=10000), 0).topics[0].error_code == 0
    broker.wait_for_leaders(name, 1, version=1)


@pytest.mark.parametrize("questions", [topic_configs, broken_records], ids=lambda one: one.__name__)
@pytest.mark.parametrize("release", RELEASES)
def test_same_answers(real_kafka: Callable[[str], RealKafka], release: str, questions: Callable[[Broker, str], None]) -> None:
    with MockCluster(1, version=release, config={name: str(value) for name, value in SINGLE_BROKER.items()}) as mock:
        assert_same_answers(real_kafka(release).bootstrap, mock.bootstrap, questions)
