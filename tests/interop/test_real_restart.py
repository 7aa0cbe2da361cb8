"""A real broker goes away and comes back while records are sent and read: none that was accepted is lost without a word."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.errors import DeliveryTimedOut
from tests.interop.brokers import BEFORE, NEWEST, real_broker
from tests.interop.faces import TIMEOUT
from tests.interop.rows import Row, messages, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.interop.faces import Face
    from tests.real.broker import RealKafka

    Failure = Callable[[RealKafka], None]

pytestmark = pytest.mark.real

ON_THEIR_WAY = 1000
"""Records that are not waited for: enough for some to be in flight at any time."""


@pytest.fixture(scope="module", params=[NEWEST, BEFORE])
def own_broker(request: pytest.FixtureRequest) -> Iterator[RealKafka]:
    """A broker that no other test relies on."""
    # After a crash the controller takes the broker back when the session of the one before has ended.
    with real_broker(request.param, broker_session_timeout_ms=2000, broker_heartbeat_interval_ms=500) as broker:
        yield broker


def restart(broker: RealKafka) -> None:
    broker.stop()
    broker.start()


def crash(broker: RealKafka) -> None:
    broker.kill()
    broker.start()


def sent_during(action: Callable[[], None], face: Face, producer: Any, topic: str) -> list[Any]:
    """Keep records on their way before and until the action is over, each with its number; returns their handles."""
    handles: list[Any] = []
    with ThreadPoolExecutor(1) as pool:
        running: Future[None] | None = None
        while running is None or not running.done():
            handles += [producer.send(topic, value(len(handles) + number)) for number in range(100)]
            counts = producer.counts()
            assert counts.accepted == len(handles) == counts.acknowledged + counts.failed + counts.queued
            if len(handles) > ON_THEIR_WAY:
                face.result(handles[-ON_THEIR_WAY])
                running = running or pool.submit(action)
        running.result()
    return handles


def value(number: int) -> bytes:
    return str(number).encode().rjust(200)


@pytest.mark.parametrize(("fail", "idempotent"), [(restart, True), (crash, True), (crash, False)])
def test_nothing_is_lost(face: Face, own_broker: RealKafka, topic: str, fail: Failure, idempotent: bool) -> None:
    bootstrap = own_broker.bootstrap
    consumer = face.consumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest", allow_auto_create_topics=True)
    options = {"linger_ms": 0, "batch_size": 10_000, "enable_idempotence": idempotent}
    with consumer, face.producer(bootstrap_servers=bootstrap, **options) as producer:
        handles = sent_during(lambda: fail(own_broker), face, producer, topic)
        producer.flush(timeout=TIMEOUT)
        count = len(handles)
        assert producer.counts() == (count, count, 0, 0)
        written = [face.result(handle) for handle in handles]

        end = consumer.end_offsets([(topic, 0)])[topic, 0]
        found: dict[int, bytes] = {}
        while len(found) < end:
            polled = consumer.poll(timeout=TIMEOUT)
            assert polled
            found |= {message.offset: message.value for message in polled}
    assert [found[at.offset] for at in written] == [value(number) for number in range(count)]
    if idempotent:
        assert end == count


def test_consumer_goes_on_after_a_restart(face: Face, own_broker: RealKafka, topic: str) -> None:
    bootstrap = own_broker.bootstrap
    with face.producer(bootstrap_servers=bootstrap) as producer:
        face.result(producer.send_many(topic, [str(number).encode() for number in range(1000)]))
        with face.consumer(topic, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
            found = consumer.poll(timeout=TIMEOUT, max_records=300)
            face.meanwhile(lambda: restart(own_broker))
            face.result(producer.send_many(topic, [str(number).encode() for number in range(1000, 1500)]))
            while len(found) < 1500:
                polled = consumer.poll(timeout=TIMEOUT)
                assert polled
                found += polled
    assert [message.offset for message in found] == list(range(1500))
    assert [message.value for message in found] == [str(number).encode() for number in range(1500)]


def test_what_is_given_up_is_counted_and_was_not_written(face: Face, own_broker: RealKafka, topic: str) -> None:
    bootstrap = own_broker.bootstrap
    with face.producer(bootstrap_servers=bootstrap, delivery_timeout_ms=5000) as producer:
        before = write(face, producer, topic, [Row(b"before")] * 10)
        face.meanwhile(own_broker.stop)
        lost = [producer.send(topic, b"lost") for _ in range(10)]
        for handle in lost:
            with pytest.raises(DeliveryTimedOut, match=topic):
                face.result(handle)
        assert producer.counts() == (20, 10, 10, 0)
        face.meanwhile(own_broker.start)
        after = write(face, producer, topic, [Row(b"after")] * 10)
        assert producer.counts() == (30, 20, 10, 0)
    found = {message.offset: message.value for message in messages(face, topic, bootstrap_servers=bootstrap)}
    assert found == {at.offset: b"before" for at in before} | {at.offset: b"after" for at in after}
