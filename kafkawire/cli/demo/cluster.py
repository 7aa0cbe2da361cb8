"""The cluster that the demo uses: a mock cluster on TCP ports of this machine, or a real one; and its topics there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from kafkawire import Connection
from kafkawire.config import ConnectionOptions
from kafkawire.errors import UnknownTopicError, broker_error
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from mockbroker import MockCluster

__all__ = ["create_topics", "reached_by"]

PARTITIONS = 6
REPLICAS = 3
PATIENCE = 30
"""Seconds that a new topic may take to be known."""


@contextmanager
def reached_by(client: ConnectionOptions) -> Iterator[ConnectionOptions]:
    """Client options for the cluster: the options given, or those of a mock cluster that runs as long as the context."""
    if "bootstrap_servers" in client:
        yield client
        return
    # In this process, so that nothing can stay behind; a process of its own was not measurably faster.
    with MockCluster(brokers=REPLICAS) as mock:
        yield {**client, "bootstrap_servers": mock.bootstrap}


def create_topics(connection: Connection, *names: str) -> list[str]:
    """Create a topic of six partitions for each name, with the time added, so that a real cluster does not have it yet."""
    stamp = time.strftime("%Y%m%d-%H%M%S")
    topic = CreateTopicsRequest.CreatableTopic
    replicas = min(REPLICAS, len(connection.brokers()))
    topics = [topic(name=f"{name}-{stamp}", num_partitions=PARTITIONS, replication_factor=replicas) for name in names]
    controller = connection.controller()
    request = CreateTopicsRequest(topics=topics)
    response = connection.request(request, broker=None if controller is None else controller.node_id)
    for result in response.topics:
        if result.error_code:
            raise broker_error(result.error_code, f"creating topic {result.name}")
    for each in topics:
        _wait_until_known(connection, each.name)
    return [each.name for each in topics]


def _wait_until_known(connection: Connection, topic: str) -> None:
    # The controller answers before the other brokers, or even its own, have heard of the topic.
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.partitions(topic)
        except UnknownTopicError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)
        else:
            return
