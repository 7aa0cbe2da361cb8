"""When records are given up: never before delivery_timeout_ms has passed since their sending, and not long after."""

from __future__ import annotations

from typing import Any

import pytest

from kafkawire._clients.deliveries import DeliveryBase
from kafkawire.config import ProducerOptions, resolve
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.produce.flows import ProducerCore
from kafkawire.errors import DeliveryTimedOut
from kafkawire.net.base import NEVER, sleep
from mockbroker import Cluster, MemoryServer
from mockbroker.state.topics import NO_LEADER
from tests.sim.driver import EPOCH, SimNet

TIMEOUT = 8.0
LINGER = 0.1
LATE = LINGER + TIMEOUT / 20 + 0.01
"""Delay that the documentation allows, and a moment for the sender."""


def given_up_after(trouble: str, every: float) -> list[float]:
    """Seconds from the sending to the end of each record of one partition, which are sent `every` so many seconds."""
    net, cluster = SimNet(1), Cluster(1, wall_clock_offset=EPOCH)
    cluster.create_topic("t", 1)
    server = MemoryServer(cluster, net)
    net.serve(server)
    waited: list[float] = []

    async def watch(delivery: Any, sent: float) -> None:
        await delivery.completion.wait(NEVER)
        with pytest.raises(DeliveryTimedOut):
            delivery.completion.result(delivery.index)
        waited.append(net.now() - sent)

    async def main() -> None:
        options = resolve(
            ProducerOptions,
            {
                "bootstrap_servers": server.bootstrap,
                "delivery_timeout_ms": int(TIMEOUT * 1000),
                "linger_ms": int(LINGER * 1000),
                "max_in_flight_requests_per_connection": 1,
                "retry_backoff_max_ms": 100,
            },
        )
        client = ClusterClient(net, options)
        producer = ProducerCore(client, options, DeliveryBase)
        await producer.send("t", b"first", None, None, None, None, None)
        await producer.flush(net.now() + 60)
        if trouble == "no leader":
            cluster.move_leader("t", 0, NO_LEADER)
        else:
            server.stop_broker(1)
        started = net.now()
        while net.now() < started + 2 * TIMEOUT:
            net.spawn(watch(await producer.send("t", b"v", None, None, None, None, None), net.now()))
            await sleep(net, every)
        await sleep(net, 2 * TIMEOUT)
        await producer.lifecycle.close(net.now())
        client.close()

    net.run(main())
    return waited


@pytest.mark.parametrize("trouble", ["no leader", "dead broker"])
@pytest.mark.parametrize("every", [0.03, 0.3, 3.0])
def test_each_record_has_its_whole_time_however_long_its_batch_was_open(trouble, every):
    waited = given_up_after(trouble, every)
    assert len(waited) >= 2 * TIMEOUT / every - 1
    assert min(waited) >= TIMEOUT
    assert max(waited) <= TIMEOUT + LATE
