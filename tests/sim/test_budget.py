"""Memory of consumers: they hold no more than their limits say, however slowly records are taken."""

from __future__ import annotations

import random

from kafkawire.config import ConsumerOptions, resolve
from kafkawire.core.cluster.client import ClusterClient
from kafkawire.core.consume.flows import ConsumerCore
from kafkawire.net.base import sleep
from kafkawire.protocol.records import read_batches
from mockbroker import Cluster, MemoryServer
from mockbroker.data import Record, append_records
from tests.sim.driver import SimNet

BROKERS = 3
PARTITIONS = 6
LIMIT = 20_000
RECORDS = 100
SIZE = 1_000


def test_a_slow_reader_has_no_more_fetched_than_it_has_room_for():
    """One answer may be on its way from every broker when the buffer becomes full."""
    random.seed(1)
    net, cluster = SimNet(1), Cluster(BROKERS)
    cluster.create_topic("t", PARTITIONS)
    for partition in range(PARTITIONS):
        for _ in range(RECORDS):
            append_records(cluster, "t", partition, [Record("t", bytes(SIZE))], 0.0)
    server = MemoryServer(cluster, net)
    net.serve(server)
    options = resolve(
        ConsumerOptions, {"bootstrap_servers": server.bootstrap, "auto_offset_reset": "earliest", "fetch_max_bytes": LIMIT}
    )

    def fetched() -> int:
        """Batches of one record each that brokers have sent in all."""
        answers = [exchange.response for exchange in server.journal.requests("Fetch") if exchange.response_time is not None]
        parts = [partition.records or b"" for answer in answers for topic in answer.responses for partition in topic.partitions]
        return sum(len(list(read_batches(records))) for records in parts)

    async def main() -> None:
        client = ClusterClient(net, options)
        consumer = ConsumerCore(client, options, ["t"])
        taken = 0
        while taken < PARTITIONS * RECORDS:
            taken += len(await consumer.poll(net.now() + 10, lambda until: consumer.collector.take(1, until)))
            await sleep(net, 0.1)  # answers come meanwhile
            if taken % 20 == 0:
                assert (fetched() - taken) * SIZE < LIMIT * (1 + BROKERS)
        consumer.close()
        client.close()

    net.run(main())
