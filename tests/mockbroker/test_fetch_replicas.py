"""Followers that answer fetches, and leaders that send clients to them (KIP-392)."""

from __future__ import annotations

from typing import Any

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest
from tests.mockbroker.raw import MemoryMock, batch, fetch_request, fetched, produce_request, produced, values_in

RACK_AWARE = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}


def replicated(**options):
    """Topic t on brokers 1 (its leader) and 2, not on 3."""
    mock = MemoryMock(3, **options)
    mock.cluster.create_topic("t", assignments=[[1, 2]])
    assert produced(mock.client().call(produce_request(batch(b"a")), 9)).error_code == 0
    return mock


@pytest.mark.parametrize(("broker", "version", "error"), [(1, 10, 0), (2, 10, 6), (2, 11, 0), (3, 11, 6)])
def test_who_answers(broker, version, error):
    answer = fetched(replicated().client(broker=broker).call(fetch_request(), version))
    assert answer.error_code == error
    assert values_in(answer.records) == ([] if error else [b"a"])


def test_a_follower_checks_the_epoch_and_wakes_up():
    mock = replicated()
    client = mock.client(broker=2)
    request = fetch_request()
    request.topics[0].partitions[0].current_leader_epoch = 1
    assert fetched(client.call(request, 12)).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH
    pending = client.send(fetch_request(1, max_wait_ms=500), 12)
    assert not pending.done
    mock.client().call(produce_request(batch(b"b")), 9)
    assert values_in(fetched(pending.result()).records) == [b"b"]


def test_only_tools_may_ask_a_follower_for_offsets():
    client = replicated().client(broker=2)
    wanted = ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=-1)
    for replica_id, error in ((-1, ErrorCode.NOT_LEADER_OR_FOLLOWER), (-2, ErrorCode.NONE)):
        request = ListOffsetsRequest(replica_id=replica_id, topics=[ListOffsetsRequest.Topic(name="t", partitions=[wanted])])
        assert client.call(request, 7).topics[0].partitions[0].error_code == error


@pytest.mark.parametrize(
    ("rack", "version", "preferred"), [("b", 11, 2), ("b", 10, -1), ("a", 11, -1), ("c", 11, -1), ("z", 11, -1), ("", 11, -1)]
)
def test_the_leader_names_the_follower_in_the_clients_rack(rack, version, preferred):
    mock = replicated(racks=["a", "b", "c"], config=RACK_AWARE)
    wait: dict[str, Any] = {"max_wait_ms": 500, "min_bytes": 1000} if preferred != -1 else {}  # told at once, all the same
    answer = fetched(mock.client().call(fetch_request(rack_id=rack, **wait), version))
    assert (answer.error_code, answer.high_watermark) == (0, 1)
    assert (answer.preferred_read_replica, values_in(answer.records)) == (preferred, [b"a"] if preferred == -1 else [])
    assert values_in(fetched(mock.client(broker=2).call(fetch_request(rack_id="b"), 11)).records) == [b"a"]


def test_a_stopped_follower_is_not_preferred():
    mock = replicated(racks=["a", "b", "c"], config=RACK_AWARE)
    mock.server.stop_broker(2)
    assert fetched(mock.client().call(fetch_request(rack_id="b"), 11)).preferred_read_replica == -1


def test_without_a_selector_nobody_is_preferred():
    mock = replicated(racks=["a", "b", "c"])
    assert fetched(mock.client().call(fetch_request(rack_id="b"), 11)).preferred_read_replica == -1
