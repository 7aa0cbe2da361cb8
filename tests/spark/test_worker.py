"""Clients that outlive a task, without tasks."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.spark  # for pyspark; the session is not started


@pytest.fixture
def kept():
    """A pool whose clients are their options and a number; `closed` has those that were closed."""
    from kafkawire.spark.worker import Kept

    made: list[dict] = []
    closed: list[int] = []

    def make(options):
        made.append(options)
        return len(made)

    pool = Kept(make, closed.append)
    return pool, closed


def borrow(pool, **options):
    with pool.lend(options) as client:
        return client


def test_a_client_is_lent_again_for_the_same_options(kept):
    pool, closed = kept
    assert [borrow(pool, a=1), borrow(pool, a=1), borrow(pool, a=2), borrow(pool, a=1)] == [1, 1, 2, 1]
    assert closed == []


def test_two_borrowers_never_share(kept):
    pool, closed = kept
    with pool.lend({}) as first, pool.lend({}) as second:
        assert first != second
    assert closed == [second]
    assert borrow(pool) == first


def test_a_client_that_saw_an_error_is_closed(kept):
    pool, closed = kept
    with pytest.raises(OSError, match="broken"), pool.lend({}):
        raise OSError("broken")
    assert closed == [1]
    assert borrow(pool) == 2


def test_a_reader_that_had_enough_leaves_its_client(kept):
    pool, closed = kept

    def rows():
        with pool.lend({}) as client:
            yield client

    reader = rows()
    next(reader)
    reader.close()
    assert closed == []
    assert borrow(pool) == 1


def test_what_is_idle_for_long_is_closed(kept, monkeypatch):
    from kafkawire.spark import worker

    pool, closed = kept
    borrow(pool, a=1)
    monkeypatch.setattr(worker, "IDLE_SECONDS", 0.0)
    borrow(pool, a=2)
    assert closed == [1]


def test_a_task_that_failed_before_gets_a_new_client(kept, monkeypatch):
    from kafkawire.spark import worker

    pool, closed = kept
    borrow(pool)
    monkeypatch.setattr(worker, "_is_retry", lambda: True)
    assert borrow(pool) == 2
    assert closed == [1]
