"""The state of one partition: which transitions there are, and what each keeps and forgets."""

from __future__ import annotations

import pytest

from kafkawire.core.cluster.backoff import Backoff
from kafkawire.core.cluster.list_offsets import EARLIEST, LATEST
from kafkawire.core.consume.partition_state import FetchState, PartitionState
from kafkawire.core.states import InvalidTransitionError
from kafkawire.message import TopicPartition
from kafkawire.protocol.wire import ZERO_UUID

OLD, NEW = b"o" * 16, b"n" * 16


def partition(fetch_state=FetchState.AWAITING_POSITION):
    """Make a partition that has come to a state; with a position, it is in the topic OLD."""
    made = PartitionState(TopicPartition("t", 0), EARLIEST)
    if fetch_state is not FetchState.AWAITING_POSITION:
        made.found(5, OLD)
    if fetch_state is FetchState.RESETTING:
        made.lose(LATEST)
    if fetch_state is FetchState.POSITION_LOST:
        made.lose("none")
    assert made.fetch_state is fetch_state
    return made


@pytest.mark.parametrize("fetch_state", FetchState)
def test_a_seek_leads_out_of_every_state(fetch_state):
    state = partition(fetch_state)
    revision = state.revision
    state.seek(7, 7)
    assert (state.fetch_state, state.position, state.lost) == (FetchState.FETCHING, 7, False)
    state.seek(None, LATEST)
    assert (state.fetch_state, state.position, state.start) == (FetchState.AWAITING_POSITION, None, LATEST)
    assert state.revision == revision + 2


@pytest.mark.parametrize("fetch_state", [FetchState.AWAITING_POSITION, FetchState.RESETTING])
def test_a_position_is_lost_only_where_there_is_one(fetch_state):
    for start in (EARLIEST, "none"):
        with pytest.raises(InvalidTransitionError, match="t partition 0"):
            partition(fetch_state).lose(start)


def test_a_position_that_is_lost_is_looked_up_where_the_reset_leads():
    state = partition(FetchState.FETCHING)
    state.back_off(10.0, Backoff(1000, 1000))
    revision = state.revision
    state.lose(LATEST)
    assert (state.position, state.start, state.topic_id, state.lost) == (None, LATEST, ZERO_UUID, True)
    assert (state.revision, state.failures, state.retry_at) == (revision + 1, 1, 0.0)
    state.found(9, NEW)
    assert (state.fetch_state, state.position, state.topic_id) == (FetchState.FETCHING, 9, NEW)


def test_without_a_reset_the_position_stays_until_the_caller_seeks_or_the_log_has_it():
    state = partition(FetchState.POSITION_LOST)
    assert (state.position, state.topic_id) == (5, OLD)
    state.lose("none")
    state.fetched(3)
    assert (state.fetch_state, state.leader_epoch) == (FetchState.FETCHING, 3)


def test_an_offset_that_is_sought_belongs_to_the_topic_read_so_far_unless_its_position_was_lost():
    state = partition(FetchState.FETCHING)
    state.seek(7, 7)
    assert state.is_of_another_topic(NEW)
    state.lose("none")
    state.seek(8, 8)
    assert not state.is_of_another_topic(NEW)
    state.adopt_topic(NEW)
    state.adopt_topic(OLD)
    assert state.topic_id == NEW


def test_a_pause_keeps_the_state_and_discards_what_is_on_its_way():
    state = partition(FetchState.FETCHING)
    revision = state.revision
    state.pause(6)
    assert (state.fetch_state, state.position, state.paused, state.revision) == (FetchState.FETCHING, 6, True, revision + 1)
    state.resume()
    assert (state.position, state.paused, state.revision) == (6, False, revision + 1)


def test_failures_in_a_row_make_longer_pauses_until_an_answer_or_a_seek():
    state = partition(FetchState.FETCHING)
    backoff = Backoff(100, 10_000, jitter=0.0)
    for delay in (0.1, 0.2, 0.4):
        state.back_off(1.0, backoff)
        assert state.retry_at == pytest.approx(1.0 + delay)
    state.fetched(-1)
    assert state.failures == 0
    state.back_off(1.0, backoff)
    state.seek(0, 0)
    assert (state.failures, state.retry_at) == (0, 0.0)
