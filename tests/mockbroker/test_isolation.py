"""How far requests look into a log: log end offset, high watermark and last stable offset are told apart."""

from __future__ import annotations

import pytest

from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest
from mockbroker.state.log import PartitionLog
from tests.mockbroker.raw import MemoryMock, batch, fetch_request, fetched, produce_request, produced, values_in

LOG_END, HIGH_WATERMARK, LAST_STABLE = 5, 4, 2
CONSUMER, REPLICA, DEBUGGING = -1, 2, -2
READ_UNCOMMITTED, READ_COMMITTED = 0, 1

READERS = [
    pytest.param(CONSUMER, READ_UNCOMMITTED, HIGH_WATERMARK, id="consumer"),
    pytest.param(CONSUMER, READ_COMMITTED, LAST_STABLE, id="consumer of committed records"),
    pytest.param(REPLICA, READ_UNCOMMITTED, LOG_END, id="replica"),
]


class LaggingLog(PartitionLog):
    """A log with records that followers do not have yet, and with an open transaction before those."""

    @property
    def high_watermark(self) -> int:
        return HIGH_WATERMARK

    @property
    def last_stable_offset(self) -> int:
        return LAST_STABLE


@pytest.fixture
def client():
    mock = MemoryMock(topics={"t": 1})
    partition = mock.cluster.partition("t", 0)
    partition.log = LaggingLog([])
    partition.elect(1)
    client = mock.client()
    for number in range(LOG_END):
        answer = produced(client.call(produce_request(batch(b"%d" % number, timestamp=1_000 + number)), 9))
        assert answer.base_offset == number
    return client


def list_offset(client, timestamp, replica_id, isolation_level):
    wanted = ListOffsetsRequest.Topic.Partition(partition_index=0, timestamp=timestamp)
    topics = [ListOffsetsRequest.Topic(name="t", partitions=[wanted])]
    request = ListOffsetsRequest(replica_id=replica_id, isolation_level=isolation_level, topics=topics)
    ((answer,),) = [topic.partitions for topic in client.call(request, 7).topics]
    assert answer.error_code == 0
    return answer.offset


@pytest.mark.parametrize(("replica_id", "isolation_level", "end"), READERS)
def test_a_fetch_reads_up_to_the_end_that_its_reader_may_see(client, replica_id, isolation_level, end):
    answer = fetched(client.call(fetch_request(replica_id=replica_id, isolation_level=isolation_level), 12))
    assert values_in(answer.records) == [b"%d" % number for number in range(end)]
    assert (answer.high_watermark, answer.last_stable_offset) == (HIGH_WATERMARK, LAST_STABLE)


@pytest.mark.parametrize(("replica_id", "isolation_level", "end"), READERS)
def test_a_fetch_from_there_on_waits(client, replica_id, isolation_level, end):
    options = {"replica_id": replica_id, "isolation_level": isolation_level, "max_wait_ms": 1_000}
    assert client.send(fetch_request(end - 1, **options), 12).done
    assert not client.send(fetch_request(end, **options), 12).done


@pytest.mark.parametrize(
    ("replica_id", "isolation_level", "end"),
    [*READERS, pytest.param(DEBUGGING, READ_UNCOMMITTED, LOG_END, id="debugging tool")],
)
def test_the_latest_offset_is_the_end_that_its_reader_may_see(client, replica_id, isolation_level, end):
    assert list_offset(client, -1, replica_id, isolation_level) == end


@pytest.mark.parametrize(("replica_id", "isolation_level", "end"), READERS)
def test_a_time_finds_only_records_that_its_reader_may_see(client, replica_id, isolation_level, end):
    assert list_offset(client, 1_000 + end - 1, replica_id, isolation_level) == end - 1
    assert list_offset(client, 1_000 + end, replica_id, isolation_level) == -1
