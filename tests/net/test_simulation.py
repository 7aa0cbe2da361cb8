"""The simulation is a test tool; here it is tested itself: that runs repeat, and that what it should find is found."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from typing import Any

import pytest

from kafkawire.errors import ConnectError, ConnectionLost, NetworkError, RequestTimedOut
from kafkawire.net.base import NEVER, call, join, sleep
from tests.net.server import HANG_UP, SILENT, echo, frame, payload
from tests.sim.driver import BusyLoop, Faults, SimNet, Stuck
from tests.sim.links import TO_CLIENT, TO_SERVER


class Echo:
    """A SimServer that answers after half a second."""

    def __init__(self, net):
        self.net = net
        self.connections: list = []

    def accept(self, _host, port, send, close):
        if port == 1:
            return None
        self.connections.append(EchoConnection(self.net, send, close))
        return self.connections[-1]


class EchoConnection:
    def __init__(self, net, send, close):
        self.net, self.send, self.close = net, send, close
        self.data = b""
        self.ended = 0

    def received(self, data):
        self.data += data
        while len(self.data) >= 12:
            size, key, _, correlation_id = struct.unpack_from(">ihhi", self.data)
            if len(self.data) < 4 + size:
                return
            response = struct.pack(">ii", size - 4, correlation_id) + self.data[12 : 4 + size]
            self.data = self.data[4 + size :]
            if key == HANG_UP:
                self.close()
            elif key != SILENT:
                self.net.at(self.net.now() + 0.5, lambda response=response: self.send(response))

    def closed(self):
        self.ended += 1


def simulation(seed, faults=None, **options):
    net = SimNet(seed, faults, **options)
    server = Echo(net)
    net.serve(server)
    return net, server


async def users(net):
    """Three flows that call until each has had ten answers, whatever the network does; how many tries it took."""

    async def user(number):
        link: Any = None
        answers = tries = 0
        while answers < 10:
            tries += 1
            try:
                if link is None or link.error is not None:
                    link = await net.connect("broker", 9092, None, net.now() + 5)
                assert payload(await call(net, link, echo(number), net.now() + 5)) == b"%d" % number
                answers += 1
            except RequestTimedOut:
                link.close()
            except NetworkError:
                await sleep(net, 1)
        link.close()
        return tries

    ends = [net.signal() for _ in range(3)]
    tasks = [net.spawn(user(number), end) for number, end in enumerate(ends)]
    for task, end in zip(tasks, ends, strict=True):
        assert await join(net, task, end, NEVER)
    return [task.value for task in tasks]


ROUGH = Faults(cut=0.05, silence=0.02, refuse=0.1)


def digest_of(seed):
    net, _ = simulation(seed, ROUGH)
    tries = net.run(users(net))
    return f"{net.digest()} {net.steps} {net.now()} {tries}"


def test_equal_seeds_give_equal_runs_and_others_differ():
    assert digest_of(1) == digest_of(1)
    assert len({digest_of(seed) for seed in range(20)}) == 20


def test_a_run_is_the_same_in_another_process():
    program = "from tests.net.test_simulation import digest_of; print(digest_of(5))"
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert ran.stdout.strip() == digest_of(5)


def test_calls_get_through_whatever_the_network_does():
    tries = 0
    for seed in range(100):
        net, server = simulation(seed, ROUGH)
        tries += sum(net.run(users(net)))
        assert all(connection.ended <= 1 for connection in server.connections)
    assert tries > 100 * 30  # or the network was not rough


def test_hours_take_no_time():
    net, _ = simulation(1)
    net.run(sleep(net, 7200))
    assert net.now() == 7200
    assert net.wall_clock() - net.now() == 1_700_000_000


def test_a_closed_link_tells_the_server_and_completes_pendings():
    async def flow():
        link, signal = await net.connect("broker", 9092, None, NEVER), net.signal()
        pending = link.send(frame(SILENT), signal)
        link.close()
        assert isinstance(pending.error, ConnectionLost)
        assert isinstance(link.send(frame(SILENT), signal).error, ConnectionLost)
        await sleep(net, 10)
        return server.connections[0].ended

    net, server = simulation(1)
    assert net.run(flow()) == 1


def test_a_server_that_closes_or_refuses():
    async def flow():
        link = await net.connect("broker", 9092, None, NEVER)
        with pytest.raises(ConnectionLost):
            await call(net, link, frame(HANG_UP), NEVER)
        with pytest.raises(ConnectError):
            await net.connect("broker", 1, None, NEVER)

    net, _ = simulation(1)
    net.run(flow())


def test_a_wait_for_nothing_is_noticed():
    net, _ = simulation(1)
    with pytest.raises(Stuck, match="nobody is ready"):
        net.run(net.wait(net.signal()))


def test_a_run_without_end_is_noticed():
    async def forever():
        while True:
            await sleep(net, 1)

    net, _ = simulation(1, longest=100)
    with pytest.raises(Stuck, match="100 virtual seconds"):
        net.run(forever())


def test_flows_that_are_left_behind_are_noticed():
    async def main():
        net.spawn(net.wait(net.signal()), name="kafkawire-forgotten")

    net, _ = simulation(1)
    with pytest.raises(Stuck, match="kafkawire-forgotten"):
        net.run(main())
    net, _ = simulation(1)
    net.run(main(), leave_flows=True)


class Queue:
    """Another thread puts items; a flow takes them, in the order that `net.base` demands or in a wrong one."""

    def __init__(self, net):
        self.lock = net.lock()
        self.signal = net.signal()
        self.items = 0

    def put(self):
        with self.lock:
            if self.items == 3:
                return
            self.items += 1
        self.signal.set()

    async def take_three(self, net, *, wrong):
        while True:
            if not wrong:
                self.signal.clear()
            with self.lock:
                if self.items == 3:
                    return
            if wrong:
                self.signal.clear()
            await net.wait(self.signal)


def takes(seed, *, wrong):
    net, _ = simulation(seed)
    queue = Queue(net)
    net.intrude([queue.put], 0.2)
    for delay in range(3):
        net.at(delay, queue.put)
    net.run(queue.take_three(net, wrong=wrong))


def test_a_lost_wake_up_is_found():
    for seed in range(300):
        takes(seed, wrong=False)
    lost = 0
    for seed in range(300):
        try:
            takes(seed, wrong=True)
        except Stuck:
            lost += 1
    assert lost


def test_a_flow_that_spins_is_noticed():
    async def spin():
        signal = net.signal()
        signal.set()
        while await net.wait(signal):
            pass  # it was to be cleared

    async def spin_slowly():
        while True:
            await sleep(net, 0.0001)

    for flow in (spin, spin_slowly):
        net, _ = simulation(1)
        with pytest.raises(BusyLoop, match="main waits"):
            net.run(flow())
        assert net.now() < 1


@pytest.mark.parametrize("ways", [(TO_SERVER,), (TO_CLIENT,), (TO_SERVER, TO_CLIENT)])
def test_what_is_sent_into_the_dark_arrives_after_it(ways):
    async def main():
        link = await net.connect("broker", 9092, None, NEVER)
        net.hosts.darken("broker", 100, ways)
        with pytest.raises(ConnectError, match="no answer"):
            await net.connect("broker", 9092, None, 10)
        assert net.now() == 10
        pending = link.send(echo(1), net.signal())
        await sleep(net, 80)
        assert not pending.done
        assert (await net.connect("other", 9092, None, 95)).error is None
        await sleep(net, 20)
        assert payload(pending.result()) == b"1"

    net, _ = simulation(1)
    net.run(main())


def test_a_host_that_is_down_cuts_and_refuses():
    async def main():
        link = await net.connect("broker", 9092, None, NEVER)
        net.hosts.take_down("broker")
        net.cut_links("broker")
        with pytest.raises(ConnectionLost):
            await call(net, link, echo(1), NEVER)
        with pytest.raises(ConnectError, match="refused"):
            await net.connect("broker", 9092, None, NEVER)
        net.hosts.bring_up("broker")
        await net.connect("broker", 9092, None, NEVER)

    net, _ = simulation(1)
    net.run(main())


def test_pieces_that_are_late_hold_up_what_comes_behind_them():
    async def main():
        link, signal = await net.connect("broker", 9092, None, NEVER), net.signal()
        pendings = [link.send(echo(number), signal) for number in range(20)]
        while not pendings[-1].done:
            assert [pending.done for pending in pendings] == sorted([pending.done for pending in pendings], reverse=True)
            signal.clear()
            await net.wait(signal)
        return net.now()

    net, _ = simulation(1, Faults(late=0.2, lateness=50.0))
    assert net.run(main()) > 50


def test_waiting_under_a_lock_is_noticed():
    async def flow():
        with net.lock():
            await sleep(net, 1)

    net, _ = simulation(1)
    with pytest.raises(AssertionError, match="while it holds a lock"):
        net.run(flow())


def test_taking_a_lock_twice_is_noticed():
    async def flow():
        lock = net.lock()
        with lock, lock:
            pass

    net, _ = simulation(1)
    with pytest.raises(AssertionError, match="twice"):
        net.run(flow())


def test_two_flows_on_one_signal_are_noticed():
    async def main():
        signal = net.signal()
        net.spawn(net.wait(signal))
        await net.wait(signal)

    net, _ = simulation(1)
    with pytest.raises(AssertionError, match="two flows"):
        net.run(main())


def test_a_flow_can_be_interrupted_in_its_wait():
    async def sleeper():
        try:
            await sleep(net, 1000)
        finally:
            tidied.append(net.now())

    async def main():
        ended = net.signal()
        task = net.spawn(sleeper(), ended)
        await sleep(net, 3)
        net.interrupt(task)
        assert await net.wait(ended, net.now() + 1)
        assert isinstance(task.error, KeyboardInterrupt)

    tidied: list[float] = []
    net, _ = simulation(1)
    net.run(main())
    assert tidied == [3]


def test_calm_ends_all_faults():
    async def main():
        net.calm()
        for number in range(50):
            link = await net.connect("broker", 9092, None, NEVER)
            assert payload(await call(net, link, echo(number), NEVER)) == b"%d" % number
            link.close()

    net, _ = simulation(1, Faults(cut=1.0, silence=1.0, refuse=1.0))
    net.run(main())
