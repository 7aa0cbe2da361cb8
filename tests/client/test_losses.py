"""Records that fail while nobody looks: the log hears of them, and so does who leaves `with`."""

from __future__ import annotations

import time
from typing import Any

import pytest

from kafkawire.errors import DeliveryError, ErrorCode
from tests.client.faces import SOON, Blocking

LINE = "not acknowledged, and nobody has asked"


def warnings(caplog):
    return [r.getMessage() for r in caplog.records if r.name == "kafkawire.producer" and LINE in r.getMessage()]


def until(found):
    """Poll until something is found."""
    end = time.monotonic() + SOON
    while not (result := found()):
        assert time.monotonic() < end
        time.sleep(0.01)
    return result


def refuse(kafka, code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, **which):
    return kafka.fail("Produce", code, **which)


def test_the_log_says_how_many_failed_and_why(face, kafka, caplog):
    refuse(kafka, topic="one")
    refuse(kafka, ErrorCode.INVALID_RECORD, topic="many")
    p = face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000)
    for _ in range(7):
        p.send("one", b"v")
    p.send_many("many", [b"v"] * 5)
    p.flush(timeout=SOON)
    lines = until(lambda: len(found := warnings(caplog)) == 2 and found)
    assert {line.split(":")[0] for line in lines} == {f"7 records were {LINE}", f"5 records were {LINE}"}
    assert any("7 of topic 'one': " in line and "TOPIC_AUTHORIZATION_FAILED" in line for line in lines)
    assert any("5 of topic 'many': " in line and "INVALID_RECORD" in line for line in lines)
    for _ in range(3):  # the next lines about these would come later; closing gathers what they would say
        p.send("one", b"v")
        p.send("many", b"v")
    p.close()
    last = warnings(caplog)[2:]
    assert len(last) == 1
    assert f"6 records were {LINE}" in last[0]
    assert "3 of topic 'one'" in last[0]
    assert "3 of topic 'many'" in last[0]


def ask_with_result(d):
    with pytest.raises(Exception, match="TOPIC_AUTHORIZATION_FAILED"):
        d.result(timeout=SOON)


@pytest.mark.parametrize("how", ["result", "exception", "on_delivery", "send_many"])
def test_failures_that_somebody_asks_about_are_not_logged_nor_raised(face, kafka, caplog, how):
    refuse(kafka, topic="one")
    called: list[Any] = []
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        if how == "on_delivery":
            for _ in range(3):
                p.send("one", b"v", on_delivery=lambda error, _: called.append(error))
            p.flush(timeout=SOON)
            until(lambda: len(called) == 3)
        elif how == "send_many":
            with pytest.raises(DeliveryError):
                p.send_many("one", [b"v"] * 3).result(timeout=SOON)
        else:
            deliveries = [p.send("one", b"v") for _ in range(3)]
            p.flush(timeout=SOON)
            for d in deliveries * 2:
                ask_with_result(d) if how == "result" else d.exception(timeout=SOON)
        assert p.counts().failed == 3
    assert warnings(caplog) == []


def test_one_of_several_was_not_asked_about(face, kafka, caplog):
    refuse(kafka, topic="one")
    with pytest.raises(DeliveryError, match=rf"^1 record was {LINE}: 1 of topic 'one': .*TOPIC_AUTHORIZATION_FAILED") as caught:
        leave_one(face, kafka)
    assert caught.value.failed == {}
    assert len(warnings(caplog)) <= 1


def leave_one(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        first, _, third = (p.send("one", b"v") for _ in range(3))
        p.flush(timeout=SOON)
        for d in (first, third, first):
            assert d.exception(timeout=SOON) is not None


def test_asking_late_counts_too(face, kafka, caplog):
    """A failure that was logged is not raised if its handle was asked in the end."""
    refuse(kafka, topic="one")
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        deliveries = [p.send("one", b"v") for _ in range(3)]
        until(lambda: warnings(caplog))
        for d in deliveries:
            ask_with_result(d)


def fail_within(face, kafka, error):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        p.send("one", b"v")
        p.flush(timeout=SOON)
        raise error


def test_another_exception_is_not_replaced(face, kafka, caplog):
    refuse(kafka, topic="one")
    with pytest.raises(ZeroDivisionError):
        fail_within(face, kafka, ZeroDivisionError())
    assert len(warnings(caplog)) == 1


def test_what_closing_gives_up_is_said(face, kafka, caplog):
    kafka.drop("Produce")
    p = face.Producer(bootstrap_servers=kafka.bootstrap)
    for _ in range(4):
        p.send("one", b"v")
    p.close(timeout=0.1)
    assert len(warnings(caplog)) == 1
    assert "4 of topic 'one': the producer was closed before" in warnings(caplog)[0]
    p.close()
    assert len(warnings(caplog)) == 1


def leave_in_a_hurry(face, kafka):
    with face.Producer(bootstrap_servers=kafka.bootstrap) as p:
        p.send("one", b"v")
        raise KeyboardInterrupt


def test_what_ctrl_c_gives_up_is_said(kafka, caplog):
    kafka.drop("Produce")
    with pytest.raises(KeyboardInterrupt):
        leave_in_a_hurry(Blocking(), kafka)
    assert len(warnings(caplog)) == 1


def test_the_halves_of_a_batch_count_for_themselves(face, kafka, caplog):
    kafka.create_topic("small", max_message_bytes=1000)
    called: list[Any] = []
    with face.Producer(bootstrap_servers=kafka.bootstrap, linger_ms=60_000) as p:
        deliveries = [p.send("small", bytes(size)) for size in (10, 2000, 20, 3000)]
        p.send("small", bytes(4000), on_delivery=lambda error, _: called.append(error))
        p.flush(timeout=SOON)
        assert [type(d.exception()).__name__ for d in deliveries[:3]] == ["NoneType", "MessageTooLargeError", "NoneType"]
        until(lambda: called)
        until(lambda: warnings(caplog))
        assert f"1 record was {LINE}" in warnings(caplog)[0]
        assert deliveries[3].exception() is not None
        assert p.counts() == (5, 2, 3, 0)
