"""Timers, and the clock that a test holds and advances over TCP."""

from __future__ import annotations

from functools import partial

import pytest

from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker import MockCluster
from mockbroker.state.timers import NEVER, Timers
from tests.mockbroker.raw import MemoryMock, TcpClient, batch, fetch_request, fetched, produce_request, produced


def answered(client, pending):
    while not pending.done:
        client.take(client.read())
    return pending.result()


def seconds_taken(exchange):
    assert exchange.response_time is not None
    return exchange.response_time - exchange.time


def test_timers_come_in_order_once_and_not_when_cancelled():
    timers = Timers()
    came: list[tuple[str, float]] = []

    def note(name, now):
        came.append((name, now))

    for name, deadline in [("b", 2.0), ("a", 1.0), ("c", 2.0), ("d", 3.0)]:
        timers.at(deadline, partial(note, name))
    gone = timers.at(0.5, partial(note, "gone"))
    assert timers.next_deadline == 0.5
    gone.cancel()
    gone.cancel()
    assert timers.next_deadline == 1.0
    timers.run(0.9)
    assert came == []
    timers.run(2.0)
    assert came == [("a", 2.0), ("b", 2.0), ("c", 2.0)]
    timers.run(10.0)
    timers.run(10.0)
    assert came[3:] == [("d", 10.0)]
    assert timers.next_deadline == NEVER


def test_timers_may_set_and_cancel_others():
    timers = Timers()
    came: list[str] = []
    other = timers.at(2.0, lambda _now: came.append("other"))

    def first(now):
        other.cancel()
        timers.at(now, lambda _now: came.append("again"))

    timers.at(1.0, first)
    timers.run(5.0)
    assert came == ["again"]


def test_drivers_hear_of_earlier_deadlines_only():
    timers = Timers()
    told: list[float] = []
    timers.on_earlier = told.append
    for deadline in (5.0, 7.0, 3.0, 4.0):
        timers.at(deadline, lambda _now: None)
    assert told == [5.0, 3.0]


def test_cancelled_timers_do_not_pile_up():
    timers, kept = Timers(), 0
    for number in range(10_000):
        timer = timers.at(1000.0 + number, lambda _now: None)
        if number % 100:
            timer.cancel()
        else:
            kept += 1
    assert len(timers._heap) < 5 * kept  # noqa: SLF001 - what it keeps is the point
    came: list[float] = []
    timers.at(5.0, came.append)
    timers.run(5.0)
    assert came == [5.0]


def test_the_deadline_of_a_wait_that_has_ended_is_forgotten():
    mock = MemoryMock(topics={"t": 1})
    client = mock.client()
    fetch = client.send(fetch_request(max_wait_ms=10_000), 12)
    mock.clock.advance(1)
    mock.client().call(produce_request(batch(b"v")), 9)
    assert fetch.done
    mock.faults.delay("Metadata", 60)
    delayed = client.send(MetadataRequest(topics=[]), 12)
    mock.clock.advance(59.9)
    assert not delayed.done
    mock.clock.advance(0.1)
    assert delayed.done


def test_a_driver_without_a_loop_is_called_once_a_deadline():
    mock = MemoryMock(topics={"t": 1})
    calls: list[float] = []
    ask = mock.clock.at

    def counted(when, call):
        calls.append(when)
        ask(when, call)

    mock.clock.at = counted  # type: ignore[method-assign]
    clients = [mock.client() for _ in range(30)]
    for number, client in enumerate(clients):
        client.send(fetch_request(max_wait_ms=60_000 - 1_000 * number), 12)
    mock.clock.advance(61)
    timers = [when for when in calls if when > 0]
    assert len(timers) <= 3 * len(clients)  # earlier ones at first, the others again as they come up, and what each wakes


def test_a_waiting_fetch_ends_when_the_test_says_so():
    with MockCluster(1, topics={"t": 1}, clock="held") as mock, TcpClient(mock.brokers[1]) as client:
        waiting = client.send(fetch_request(max_wait_ms=60_000), 12)
        mock.journal.wait_for("Fetch")
        mock.clock.advance(59.9)
        client.socket.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.socket.recv(1)
        client.socket.setblocking(True)
        mock.clock.advance(0.1)
        assert fetched(answered(client, waiting)).error_code == 0
        (exchange,) = mock.journal.requests("Fetch")
        assert seconds_taken(exchange) == pytest.approx(60)


def test_everything_happens_at_its_own_time():
    with MockCluster(1, topics={"t": 1}, clock="held") as mock:
        clients = [TcpClient(mock.brokers[1]) for _ in range(3)]
        for seconds, client in zip((30, 10, 20), clients, strict=True):
            with mock.delay("Metadata", seconds) as fault:
                client.send(MetadataRequest(topics=[]), 12)
                fault.wait_for(1)
        start = mock.clock.time()
        mock.clock.advance(100)
        times = {one.client.connection: seconds_taken(one) for one in mock.journal.requests("Metadata")}
        assert times == {1: pytest.approx(30), 2: pytest.approx(10), 3: pytest.approx(20)}
        assert mock.clock.time() - start == pytest.approx(100)
        for client in clients:
            client.socket.close()


def test_log_append_time_is_the_clocks():
    with MockCluster(1, clock="held") as mock, TcpClient(mock.brokers[1]) as client:
        mock.create_topic("t", message_timestamp_type="LogAppendTime")
        start = round(mock.clock.time() * 1000)
        mock.produce("t", b"a")
        mock.clock.advance(3600)
        stamped = produced(client.call(produce_request(batch(b"b")), 9)).log_append_time_ms
        assert stamped - start == pytest.approx(3_600_000, abs=2)
        assert [m.timestamp for m in mock.messages("t")] == [
            pytest.approx(start, abs=2),
            pytest.approx(start + 3_600_000, abs=2),
        ]


def test_a_running_clock_can_be_held_advanced_and_released():
    with MockCluster(1, topics={"t": 1}) as mock, TcpClient(mock.brokers[1]) as client:
        assert not mock.clock.held
        mock.clock.hold()
        mock.clock.hold()
        stands_at = mock.clock.time()
        assert (mock.clock.held, mock.clock.time()) == (True, stands_at)
        waiting = client.send(fetch_request(max_wait_ms=20), 12)
        mock.journal.wait_for("Fetch")
        mock.clock.release()
        mock.clock.release()
        answered(client, waiting)
        waiting = client.send(fetch_request(max_wait_ms=3_600_000), 12)
        mock.journal.wait_for("Fetch", count=2)
        mock.clock.advance(3_600)  # of a clock that runs: it goes on from there
        answered(client, waiting)
        assert mock.clock.time() - stands_at > 3_600
        assert not mock.clock.held
        with pytest.raises(ValueError, match="cannot go back"):
            mock.clock.advance(-1)
    with pytest.raises(ValueError, match="'held'"):
        MockCluster(1, clock="frozen")  # type: ignore[arg-type]
