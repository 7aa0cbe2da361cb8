"""Produce, frame by frame: formats, checks, sequences, answers."""

from __future__ import annotations

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol import records
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.messages.init_producer_id import InitProducerIdRequest
from kafkawire.protocol.records import encode_message_set, read_batches
from mockbroker.profiles import profile
from tests.mockbroker.raw import MemoryMock, batch, fetch_request, fetched, produce_request, produced, values_in

NO_TRANSACTION = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
PLAIN_CODECS = [Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4]


def stored(mock, topic="t", partition=0):
    """The batches in a log, as fetched."""
    return [one for kept in mock.log(topic, partition).batches(0) for one in read_batches(kept.data)]


@pytest.mark.parametrize("version", range(3, 14))
def test_batches_are_stamped_and_kept_as_they_were(version):
    mock = MemoryMock(topics={"t": 1})
    client = mock.client()
    mock.cluster.move_leader("t", 0, 1)  # a new epoch: 1
    sent = batch(b"a", b"b", codec=Codec.ZSTD if version >= 7 else Codec.LZ4)
    for expected in (0, 2):
        answer = produced(client.call(produce_request(sent, topic_id=mock.topic_id("t")), version))
        assert (answer.error_code, answer.base_offset) == (0, expected)
    first, second = stored(mock)  # their checksums hold, or read_batches would raise
    assert (first.base_offset, first.leader_epoch, second.base_offset, second.next_offset) == (0, 1, 2, 4)
    kept = mock.log("t").batches(0)[1].data
    assert kept[16:] == sent[16:]


@pytest.mark.parametrize("codec", PLAIN_CODECS)
@pytest.mark.parametrize(
    ("version", "release", "magic"),
    [(0, "0.8.2", 0), (1, "0.9", 0), (0, "0.10.2", 0), (2, "0.10.2", 0), (2, "0.10.2", 1), (2, "2.8", 0), (2, "2.8", 1)],
)
def test_message_sets_of_old_clients(version, release, magic, codec):
    mock = MemoryMock(topics={"t": 1}, version=release)
    client = mock.client()
    rows = [(b"k", b"a", 5), (None, b"b", 7), (b"k", None, 6)]
    for expected in (0, 3):
        message_set = encode_message_set(magic, rows, codec=codec)
        assert produced(client.call(produce_request(message_set), version)).base_offset == expected
    batches = stored(mock)
    assert {one.magic for one in batches} == {profile(release).magic}
    assert {one.codec for one in batches} == {codec}
    columns = records.decode_columns(batches)
    assert list(columns.offsets) == [0, 1, 2, 3, 4, 5]
    assert records.values(columns) == [b"a", b"b", None] * 2
    times = [5, 7, 6] * 2 if magic == 1 else [-1] * 6
    assert list(columns.timestamps) == (times if profile(release).magic else [-1] * 6)
    assert mock.log("t").latest_timestamp()[:2] == ((1, 7) if max(times) > 0 and profile(release).magic else (0, -1))


def test_log_append_time_overrides_the_producers():
    mock = MemoryMock(brokers=1)
    mock.cluster.create_topic("t", 1, configs={"message.timestamp.type": "LogAppendTime"})
    mock.clock.advance(5)
    answer = produced(mock.client().call(produce_request(batch(b"a", b"b")), 9))
    assert answer.log_append_time_ms == 1_700_000_005_000
    (kept,) = stored(mock)
    assert (kept.timestamp_type, kept.max_timestamp) == (1, 1_700_000_005_000)
    assert {m.timestamp for m in records.messages(records.decode_columns([kept]), "t", 0)} == {1_700_000_005_000}


def test_log_append_time_in_format_1():
    mock = MemoryMock(version="0.10.2")
    mock.cluster.create_topic("t", 1, configs={"message.timestamp.type": "LogAppendTime"})
    message_set = encode_message_set(1, [(None, b"a", 5), (None, b"b", 6)], codec=Codec.GZIP)
    assert produced(mock.client().call(produce_request(message_set), 2)).log_append_time_ms == 1_700_000_000_000
    columns = records.decode_columns(stored(mock))
    assert list(columns.timestamps) == [1_700_000_000_000] * 2


def damaged():
    data = batch(b"a")
    data[-1] ^= 1
    return data


def control():
    return records.seal_batch(
        [records.encode_record(0, 0, b"\0\0\0\1", b"")], count=1, base_timestamp=0, max_timestamp=0, control=True
    )


@pytest.mark.parametrize(
    ("data", "version", "error"),
    [
        (damaged(), 9, ErrorCode.CORRUPT_MESSAGE),
        (batch(b"a")[:-3], 9, ErrorCode.INVALID_RECORD),
        (b"", 9, ErrorCode.INVALID_RECORD),
        (batch(b"a") + batch(b"b"), 9, ErrorCode.INVALID_RECORD),
        (encode_message_set(1, [(None, b"a", 1)]), 9, ErrorCode.INVALID_RECORD),
        (control(), 9, ErrorCode.INVALID_RECORD),
        (batch(b"a", producer_id=1, producer_epoch=0), 9, ErrorCode.INVALID_RECORD),
        (batch(b"a", producer_id=1, producer_epoch=0, base_sequence=0, transactional=True), 9, NO_TRANSACTION),
        (batch(bytes(2000)), 9, ErrorCode.MESSAGE_TOO_LARGE),
        (batch(b"a", key=None), 9, ErrorCode.INVALID_RECORD),
    ],
)
def test_refused_records(data, version, error):
    mock = MemoryMock()
    mock.cluster.create_topic("t", 1, configs={"max.message.bytes": "1000", "cleanup.policy": "compact"})
    client = mock.client()
    answer = produced(client.call(produce_request(data), version))
    assert (ErrorCode.of(answer.error_code), answer.base_offset) == (error, -1)
    assert mock.log("t").log_end_offset == 0
    assert produced(client.call(produce_request(batch(b"good")), version)).error_code == 0


def test_trap_58_zstd_needs_produce_7():
    client = MemoryMock(topics={"t": 1}).client()
    packed = produce_request(batch(b"a", codec=Codec.ZSTD))
    assert ErrorCode.of(produced(client.call(packed, 6)).error_code) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert produced(client.call(packed, 7)).error_code == 0


def test_a_compressed_batch_is_measured_compressed():
    mock = MemoryMock()
    mock.cluster.create_topic("t", 1, configs={"max.message.bytes": "1000"})
    assert produced(mock.client().call(produce_request(batch(bytes(50_000), codec=Codec.GZIP)), 9)).error_code == 0


@pytest.mark.parametrize(("codec", "error"), [(Codec.NONE, ErrorCode.NONE), (Codec.GZIP, ErrorCode.INVALID_RECORD)])
def test_a_compressed_record_has_a_limit_of_its_own_since_4_4(codec, error):
    """For others there is max.message.bytes alone."""
    mock = MemoryMock()
    mock.cluster.create_topic("t", 1, configs={"max.decompressed.message.bytes": "1000"})
    client = mock.client()
    fits, too_large = bytes(990), bytes(991)  # with a key and 7 bytes more
    assert produced(client.call(produce_request(batch(fits, fits, codec=codec)), 9)).error_code == 0
    assert produced(client.call(produce_request(batch(b"v", too_large, codec=codec)), 9)).error_code == error


def test_unknown_topics_and_wrong_leaders():
    mock = MemoryMock(2, topics={"t": 1})  # led by broker 1
    client = mock.client(broker=2)
    assert produced(client.call(produce_request(batch(b"a"), topic="x"), 9)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (
        produced(client.call(produce_request(batch(b"a"), partition=1), 9)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    assert produced(client.call(produce_request(batch(b"a"), topic_id=b"x" * 16), 13)).error_code == ErrorCode.UNKNOWN_TOPIC_ID
    response = client.call(produce_request(batch(b"a")), 10)
    answer = produced(response)
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert (answer.current_leader.leader_id, answer.current_leader.leader_epoch) == (1, 0)
    assert [(node.node_id, node.host, node.port) for node in response.node_endpoints] == [(1, "broker-1", 9092)]
    assert produced(client.call(produce_request(batch(b"a")), 9)).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_acks():
    mock = MemoryMock(3, topics={"t": 1})
    client = mock.client()
    assert produced(client.call(produce_request(batch(b"a"), acks=2), 9)).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    mock.cluster.create_topic("u", 1, configs={"min.insync.replicas": "3"})
    assert produced(client.call(produce_request(batch(b"a"), topic="u", acks=-1), 9)).error_code == 0
    mock.server.stop_broker(2)
    assert produced(client.call(produce_request(batch(b"a"), topic="u"), 9)).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert produced(client.call(produce_request(batch(b"a"), topic="u", acks=1), 9)).error_code == 0


def test_trap_11_acks_0_gets_no_answer_and_an_error_closes():
    mock = MemoryMock(topics={"t": 1})
    client = mock.client()
    client.send(produce_request(batch(b"a"), acks=0), 9, replies=False)
    assert (bytes(client.output), client.closed) == (b"", False)
    assert values_in(fetched(client.call(fetch_request(), 12)).records) == [b"a"]
    client.send(produce_request(batch(b"a"), topic="missing", acks=0), 9, replies=False)
    assert client.closed


def sequence(client, first, count=1, epoch=0):
    data = batch(*[b"v"] * count, producer_id=7, producer_epoch=epoch, base_sequence=first)
    answer = produced(client.call(produce_request(data), 9))
    assert answer.log_start_offset == 0
    return ErrorCode.of(answer.error_code), answer.base_offset


def test_sequences_of_an_idempotent_producer():
    mock = MemoryMock(topics={"t": 1})
    client = mock.client()
    gap = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert [sequence(client, n) for n in range(7)] == [(0, n) for n in range(7)]
    assert [sequence(client, n) for n in range(2, 7)] == [(0, n) for n in range(2, 7)]  # repeats: the original offsets
    assert sequence(client, 1) == gap  # older than the window of five
    assert sequence(client, 8) == gap
    assert sequence(client, 6, count=2) == gap  # not the same batch
    assert sequence(client, 7, count=3) == (0, 7)
    assert mock.log("t").log_end_offset == 10


def test_epochs_of_an_idempotent_producer():
    client = MemoryMock(topics={"t": 1}).client()
    assert sequence(client, 5, epoch=1) == (0, 0)  # an unknown producer may start anywhere
    assert sequence(client, 0, epoch=0) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)
    assert sequence(client, 6, epoch=2) == (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, -1)
    assert sequence(client, 0, epoch=2) == (0, 1)
    assert sequence(client, 6, epoch=1) == (ErrorCode.INVALID_PRODUCER_EPOCH, -1)


def test_trap_28_sequence_numbers_wrap():
    client = MemoryMock(topics={"t": 1}).client()
    assert sequence(client, 2**31 - 2, count=2) == (0, 0)
    assert sequence(client, 0) == (0, 2)
    assert sequence(client, 2**31 - 2, count=2) == (0, 0)


def test_producer_ids_are_never_given_twice():
    client = MemoryMock(2).client()
    answers = [client.call(InitProducerIdRequest(transactional_id=None), version) for version in range(6)]
    assert len({answer.producer_id for answer in answers}) == 6
    assert {(answer.error_code, answer.producer_epoch) for answer in answers} == {(0, 0)}
    assert client.call(InitProducerIdRequest(transactional_id="t"), 4).error_code == NO_TRANSACTION


@pytest.mark.parametrize("version", [7, 8, 13])
def test_records_without_key_on_a_compacted_topic_are_named(version):
    mock = MemoryMock()
    mock.cluster.create_topic("t", 1, configs={"cleanup.policy": "compact,delete"})
    parts = records.encode_columns([b"a", b"b", b"c"], [None, b"k", None], [1, 2, 3], base_timestamp=1)
    data = records.seal_batch(parts, count=3, base_timestamp=1, max_timestamp=3)
    answer = produced(mock.client().call(produce_request(data, topic_id=mock.topic_id("t")), version))
    assert (answer.error_code, answer.log_start_offset) == (ErrorCode.INVALID_RECORD, 0)
    assert [error.batch_index for error in answer.record_errors] == ([0, 2] if version >= 8 else [])
    if version >= 8:
        assert answer.error_message.startswith("One or more records have been rejected due to 2 record errors in total")
        assert "without key in topic partition t-0" in answer.record_errors[0].batch_index_error_message
    assert mock.log("t").log_end_offset == 0


NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("release", "configs", "times", "refused"),
    [
        ("4.3", {}, [NOW, NOW + 3_600_000], []),
        ("4.3", {}, [NOW, NOW + 3_600_001], [1]),
        ("4.3", {}, [0], []),
        ("3.9", {}, [NOW + 3_600_001], []),
        ("4.3", {"message.timestamp.before.max.ms": "1000"}, [NOW - 1001, NOW, NOW - 1000], [0]),
        ("4.3", {"message.timestamp.type": "LogAppendTime"}, [NOW + 3_600_001], []),
    ],
)
def test_times_too_far_from_now(release, configs, times, refused):
    mock = MemoryMock(version=release)
    mock.cluster.create_topic("t", 1, configs=configs)
    parts = records.encode_columns([b"v"] * len(times), [b"k"] * len(times), times, base_timestamp=times[0])
    data = records.seal_batch(parts, count=len(times), base_timestamp=times[0], max_timestamp=max(times))
    answer = produced(mock.client().call(produce_request(data), 9))
    assert answer.error_code == (ErrorCode.INVALID_TIMESTAMP if refused else 0)
    assert [error.batch_index for error in answer.record_errors] == refused


def test_a_broker_configuration_counts_where_the_topic_has_none():
    mock = MemoryMock(config={"message.max.bytes": "1000"}, topics={"t": 1})
    mock.cluster.create_topic("u", 1, configs={"max.message.bytes": "3000"})
    client = mock.client()
    assert produced(client.call(produce_request(batch(bytes(2000))), 9)).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert produced(client.call(produce_request(batch(bytes(2000)), topic="u"), 9)).error_code == 0


def test_a_producer_names_its_id_and_epoch_or_neither():
    client = MemoryMock().client()
    for producer_id, epoch in ((5, -1), (-1, 0)):
        asked = InitProducerIdRequest(transactional_id=None, producer_id=producer_id, producer_epoch=epoch)
        assert client.call(asked, 4).error_code == ErrorCode.INVALID_REQUEST
    answer = client.call(InitProducerIdRequest(transactional_id=None, producer_id=7, producer_epoch=3), 4)
    assert (answer.error_code, answer.producer_epoch) == (0, 0)


TWO_BATCHES = bytes(batch(b"a") + batch(b"b"))
CLOSED, HANGS, WRONG_ACKS = "closes", "says nothing more", ErrorCode.INVALID_REQUIRED_ACKS


@pytest.mark.parametrize(
    ("version", "in_wrong_form", "empty", "null"),
    [
        ("1.1", CLOSED, CLOSED, CLOSED),
        ("2.0", CLOSED, CLOSED, CLOSED),
        ("2.1", ErrorCode.CORRUPT_MESSAGE, CLOSED, CLOSED),
        ("2.3", ErrorCode.CORRUPT_MESSAGE, CLOSED, CLOSED),
        ("2.4", ErrorCode.INVALID_RECORD, CLOSED, CLOSED),
        ("2.7", ErrorCode.INVALID_RECORD, CLOSED, CLOSED),
        ("2.8", ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD, ErrorCode.UNKNOWN_SERVER_ERROR),
        ("3.7", ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD, ErrorCode.UNKNOWN_SERVER_ERROR),
        ("3.8", ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD, HANGS),
        ("4.3", ErrorCode.INVALID_RECORD, ErrorCode.INVALID_RECORD, HANGS),
    ],
)
@pytest.mark.parametrize("acks", [-1, 5])
def test_records_that_are_missing_or_in_a_wrong_form(version, in_wrong_form, empty, null, acks):
    mock = MemoryMock(version=version, topics={"t": 1})

    def outcome(data):
        client = mock.client()
        pending = client.send(produce_request(data, acks=acks), 5)
        if not pending.done:
            return CLOSED if client.closed else HANGS
        return ErrorCode.of(produced(pending.result()).error_code)

    assert outcome(TWO_BATCHES) == in_wrong_form  # even if the acks are wrong too
    assert outcome(b"") == empty
    assert outcome(None) == (WRONG_ACKS if acks == 5 and isinstance(null, ErrorCode) else null)
    assert outcome(batch(b"a")) == (WRONG_ACKS if acks == 5 else 0)
    damaged = bytes(batch(b"a"))[:-1] + b"x"
    assert outcome(damaged) == (WRONG_ACKS if acks == 5 else ErrorCode.CORRUPT_MESSAGE)
