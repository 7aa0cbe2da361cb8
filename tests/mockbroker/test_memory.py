"""The brokers in memory under the simulation's virtual clock: links that delay, split and cut, in one thread."""

from __future__ import annotations

import pytest

from kafkawire.errors import ConnectError, ConnectionLost
from kafkawire.net.base import call, sleep
from kafkawire.protocol.frames import decode_response, request_frame
from kafkawire.protocol.messages.fetch import FetchResponse
from kafkawire.protocol.messages.produce import ProduceResponse
from mockbroker import Cluster, MemoryServer
from tests.mockbroker.raw import batch, fetch_request, fetched, produce_request, produced, values_in
from tests.sim.driver import EPOCH, SimNet

MINUTE = 60.0


def simulated(seed=1, brokers=2):
    net = SimNet(seed)
    cluster = Cluster(brokers, wall_clock_offset=EPOCH)
    cluster.create_topic("t", 1)
    server = MemoryServer(cluster, net)
    net.serve(server)
    return net, server


async def connect(net, broker=1):
    return await net.connect(f"broker-{broker}", 9092, None, net.now() + MINUTE)


async def ask(net, link, message, version, answer):
    frame = await call(net, link, request_frame(message, version, "sim"), net.now() + MINUTE)
    return decode_response(answer, version, frame)


@pytest.mark.parametrize("seed", range(20))
def test_a_waiting_fetch_is_woken_in_virtual_time(seed):
    net, _ = simulated(seed)
    found = []

    async def consume():
        link = await connect(net)
        answer = await ask(net, link, fetch_request(max_wait_ms=50_000, min_bytes=1), 12, FetchResponse)
        found.append((values_in(fetched(answer).records), net.now()))
        answer = await ask(net, link, fetch_request(1, max_wait_ms=3_000, min_bytes=1), 12, FetchResponse)
        found.append((values_in(fetched(answer).records), net.now()))

    async def main():
        done = net.signal()
        net.spawn(consume(), done)
        await sleep(net, 10)
        link = await connect(net)
        answer = await ask(net, link, produce_request(batch(b"a")), 9, ProduceResponse)
        assert produced(answer).base_offset == 0
        await net.wait(done)

    net.run(main())
    (first, woken), (second, timed_out) = found
    assert (first, second) == ([b"a"], [])
    assert 10 <= woken < 20
    assert timed_out - woken >= 3


def test_stopped_brokers_cut_and_refuse():
    net, server = simulated()

    async def main():
        link = await connect(net)
        waiting = link.send(request_frame(fetch_request(max_wait_ms=50_000), 12, "sim"), net.signal())
        await sleep(net, 1)
        server.stop_broker(1)
        await sleep(net, 1)
        with pytest.raises(ConnectionLost):
            waiting.result()
        with pytest.raises(ConnectError):
            await connect(net)
        link = await connect(net, broker=2)
        assert produced(await ask(net, link, produce_request(batch(b"a")), 9, ProduceResponse)).error_code == 0
        server.start_broker(1)
        await connect(net)

    net.run(main())


def test_the_same_seed_gives_the_same_run():
    def run(seed):
        net, server = simulated(seed)

        async def main():
            link = await connect(net)
            for n in range(5):
                await ask(net, link, produce_request(batch(b"%d" % n)), 9, ProduceResponse)

        net.run(main())
        return net.digest(), server.cluster.topic("t").id

    assert run(7) == run(7)
    assert run(7) != run(8)
