"""Arguments of every wrong type and range: each call refuses them by name, changes nothing, and is right the next time."""

from __future__ import annotations

import time

import pytest

from kafkawire.errors import ConfigurationError, ErrorCode, TimedOut
from tests import bare
from tests.client.faces import SOON

ONE = ("one", 0)
NO_NUMBERS = [None, 1.5, float("nan"), "", "0", b"", b"0", [], {}, (), True, object()]
NO_TOPICS: list[object] = [None, 1, 1.5, b"one", [], {}, ()]
NO_LISTS = [None, 1, 1.5, True, "", "one", b"", object()]
NO_PARTITIONS: list[object] = [None, 1, 1.5, "", "one", b"", [], {}, (), ("one",), ("one", 0, 1), object()]
NO_PARTITIONS += [("one", number) for number in [*NO_NUMBERS, -1, 2**31, 2**63]]
NO_PARTITIONS += [(topic, 0) for topic in NO_TOPICS]
NO_TIMEOUTS = [float("nan"), "", "1", b"", [], {}, (), True, object()]
REFUSED = (TypeError, ConfigurationError)


@pytest.fixture
def consumer(face, kafka):
    kafka.produce("one", b"0", b"1")
    with face.Consumer("one", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=10) as c:
        yield c


def refuse(call, wrong, name):
    for each in wrong:
        with pytest.raises(REFUSED, match=name):
            call(each)


def check_usable(c):
    c.seek_to_beginning()
    assert [message.value for message in c.poll(timeout=SOON)] == [b"0", b"1"]


def test_timeouts_of_a_consumer(consumer):
    """NaN never comes: a poll that took it for a time would wait for ever."""
    polls = [lambda t: consumer.poll(timeout=t), lambda t: consumer.poll_arrow(timeout=t)]
    for call in polls:
        refuse(call, [*NO_TIMEOUTS, None], "timeout is a number of seconds")
    for call in (
        lambda t: consumer.position(ONE, timeout=t),
        lambda t: consumer.end_offsets([ONE], timeout=t),
        lambda t: consumer.beginning_offsets([ONE], timeout=t),
        lambda t: consumer.offsets_for_times({ONE: 0}, timeout=t),
        lambda t: consumer.lag(timeout=t),
        lambda t: consumer.fetch("one", 0, 0, timeout=t),
        lambda t: consumer.topics(timeout=t),
        lambda t: consumer.partitions_for("one", timeout=t),
    ):
        refuse(call, NO_TIMEOUTS, "timeout is a number of seconds")
    check_usable(consumer)


def test_numbers_of_records(consumer):
    refuse(lambda n: consumer.poll(max_records=n), [*NO_NUMBERS[1:], -1, 2**63], "max_records")
    refuse(lambda n: consumer.poll_arrow(max_records=n), [*NO_NUMBERS[1:], -1, 2**63], "max_records")
    check_usable(consumer)


def test_lists_of_partitions(consumer):
    check_usable(consumer)
    for call in (consumer.assign, consumer.beginning_offsets, consumer.end_offsets):
        refuse(call, NO_LISTS, r"partitions are a list of \(topic, number\)|is not a partition")
        refuse(lambda tp, call=call: call([ONE, tp]), NO_PARTITIONS, "is not a partition")
    assert consumer.assignment() == {ONE}
    check_usable(consumer)


def test_single_partitions(consumer):
    check_usable(consumer)
    for call in (
        consumer.pause,
        consumer.resume,
        consumer.position,
        consumer.seek_to_beginning,
        consumer.seek_to_end,
        lambda tp: consumer.seek(tp, 0),
    ):
        refuse(call, NO_PARTITIONS, "is not a partition")
    refuse(lambda tp: consumer.offsets_for_times({tp: 0}), [None, 1, "one", (), ("one",), ("one", -1)], "is not a partition")
    check_usable(consumer)


def test_offsets_to_seek(consumer):
    """An offset that no request can have would make every fetch of the consumer fail, of other partitions too."""
    refuse(lambda offset: consumer.seek(ONE, offset), [*NO_NUMBERS, -1, 2**63, 2**64], "offset")
    refuse(lambda where: consumer.seek(ONE, where), ["first", "tail:", "tail:-1", "tail:" + "9" * 5000], "is not an offset")
    check_usable(consumer)
    consumer.seek(ONE, 1)
    assert [message.value for message in consumer.poll(timeout=SOON)] == [b"1"]


def test_times(consumer):
    refuse(consumer.offsets_for_times, [None, 1, "", "one", [], [ONE], object()], "times are a dict")
    refuse(lambda time: consumer.offsets_for_times({ONE: time}), [*NO_NUMBERS, -1, 2**63], "timestamp")
    assert consumer.offsets_for_times({ONE: 0}, timeout=SOON)[ONE].offset == 0
    check_usable(consumer)


def test_single_fetches(consumer):
    refuse(lambda topic: consumer.fetch(topic, 0, 0), [None, 1, b"one", []], "is not a partition")
    refuse(lambda number: consumer.fetch("one", number, 0), [*NO_NUMBERS, -1, 2**31], "is not a partition")
    refuse(lambda offset: consumer.fetch("one", 0, offset), [*NO_NUMBERS, -1, 2**63], "offset")
    refuse(lambda size: consumer.fetch("one", 0, 0, max_bytes=size), [*NO_NUMBERS, -1, 0, 2**31], "max_bytes")
    assert len(consumer.fetch("one", 0, 0, timeout=SOON)) == 2
    check_usable(consumer)


def test_a_refused_call_changes_none_of_its_partitions(face, kafka):
    kafka.produce("one", b"0", b"1")
    with face.Consumer(bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest") as c:
        c.assign([ONE])
        assert len(c.poll(timeout=SOON)) == 2
        for wrong in (("many", 0), ("one", -1)):
            for call in (c.pause, c.seek_to_beginning):
                with pytest.raises(ConfigurationError, match=r"not assigned|is not a partition"):
                    call(ONE, wrong)
        assert c.paused() == set()
        assert c.position(ONE) == 2
        c.pause(ONE)
        with pytest.raises(ConfigurationError, match="not assigned"):
            c.resume(ONE, ("many", 0))
        assert c.paused() == {ONE}


def test_tables(face, kafka):
    pyarrow = bare.package("pyarrow")
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        refuse(
            lambda table: p.send_arrow("one", table), [None, 1, "t", b"", [], [b"v"], {"value": [b"v"]}, object()], "table is"
        )
        assert p.counts().accepted == 0
        assert len(p.send_arrow("one", pyarrow.table({"value": [b"v"]})).result(timeout=SOON)) == 1


def test_timeouts_of_deliveries(kafka):
    """Of the blocking face: with asyncio one awaits them."""
    from kafkawire import Producer

    with Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        one, several = p.send("one", b"v"), p.send_many("one", [b"v"])
        for call in (one.result, one.exception, several.result):
            refuse(call, NO_TIMEOUTS, "timeout is a number of seconds")


def test_a_wait_that_ends_says_for_what_and_why_it_was_not_there_yet(kafka):
    """Of the blocking face: with asyncio the limit is the caller's own."""
    from kafkawire import Producer

    fault = kafka.fail("Produce", ErrorCode.NOT_LEADER_OR_FOLLOWER)
    with Producer(bootstrap_servers=kafka.bootstrap, retry_backoff_ms=10, retry_backoff_max_ms=10) as p:
        for wait in (p.send("one", b"v").result, p.send_many("one", [b"v"]).result):
            with pytest.raises(TimedOut, match="one partition 0: not acknowledged in the time given"):
                wait(timeout=0)
        with pytest.raises(TimedOut, match="NOT_LEADER"):
            wait_until_it_has_failed(p.send("one", b"v").result)
        fault.clear()


def wait_until_it_has_failed(result):
    until = time.monotonic() + SOON
    while True:
        try:
            result(timeout=0.05)
        except TimedOut as error:
            if "The last attempt" in str(error) or time.monotonic() > until:
                raise
