"""Kafka's Java client as a library: its messages and its records, in one JVM that is driven by reflection (Py4J).

Py4J comes with PySpark and needs a Java runtime only, not a compiler.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from kafkawire.protocol.schema import Request, Response
from tests import requirements
from tests.real.jvm import QUICK_JVM
from tests.real.releases import RELEASES, jars

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kafkawire.protocol.schema import Message

__all__ = ["JavaBatch", "JavaClient", "JavaRecord"]

STOP_TIMEOUT = 30

COORDINATOR_PACKAGES = {
    **dict.fromkeys(["classic_group", "consumer_group", "share_group", "streams_group"], "coordinator.group.generated"),
    "transaction_state": "coordinator.transaction.generated",
}
"""Module of `kafkawire.protocol.formats` -> the package that has its classes, where it is not that of the messages."""

Headers = tuple[tuple[str, bytes | None], ...]


class JavaRecord(NamedTuple):
    """A record as Java shows it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


class JavaBatch(NamedTuple):
    """Description by Java of a batch, or of a message of format 0 or 1 with the messages in it."""

    magic: int
    valid: bool
    compression: str
    timestamp_type: str
    base_offset: int
    last_offset: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    records: list[JavaRecord]


class JavaClient:
    """The classes of kafka-clients of one release. A context manager; its JVM ends with it."""

    def __init__(self, release: str) -> None:
        self._release = release
        self._classes: dict[str, Any] = {}

    def __enter__(self) -> Self:
        py4j = requirements.peer("py4j.java_gateway")
        port, token, self._process = py4j.launch_gateway(
            classpath=os.pathsep.join(map(str, jars(RELEASES[self._release]))),
            javaopts=list(QUICK_JVM),
            die_on_exit=True,
            enable_auth=True,
            return_proc=True,
        )
        self._gateway = py4j.JavaGateway(gateway_parameters=py4j.GatewayParameters(port=port, auth_token=token))
        self._mapper = self._class("com.fasterxml.jackson.databind.ObjectMapper")()
        return self

    def __exit__(self, *_: object) -> None:
        self._gateway.shutdown()
        self._process.stdin.close()  # what `die_on_exit` waits for
        self._process.wait(STOP_TIMEOUT)

    def _class(self, name: str) -> Any:
        """A class by its name. Kept, since finding one is a call for each part of the name."""
        if name not in self._classes:
            found: Any = self._gateway.jvm
            for part in name.split("."):
                found = getattr(found, part)
            self._classes[name] = found
        return self._classes[name]

    def option_names(self, config: str) -> list[str]:
        """The options of "producer.ProducerConfig" and the like, without those of brokers."""
        return [str(name) for name in self._class(f"org.apache.kafka.clients.{config}").configNames()]

    # Messages

    def encode_json(self, cls: type[Message], version: int, text: str) -> bytes:
        """The body that Java writes for a message in Kafka's JSON form."""
        return self._bytes(self._converter(cls).read(self._mapper.readTree(text), version), version)

    def decode_to_json(self, cls: type[Message], version: int, body: bytes) -> str:
        """A body as Java reads it, in Kafka's JSON form, which lacks records and unknown tagged fields."""
        return str(self._converter(cls).write(self._decode(cls, version, body), version).toString())

    def encode_again(self, cls: type[Message], version: int, body: bytes) -> bytes:
        """A body as Java writes it after it has read it."""
        return self._bytes(self._decode(cls, version, body), version)

    def throttled_by_client(self, api_key: int) -> range:
        """The versions of an API whose throttle time this client waits itself, of those up to its newest."""
        newest = self._class("org.apache.kafka.common.protocol.ApiKeys").forId(api_key).latestVersion()
        data = self._class("org.apache.kafka.common.message.ApiMessageType").fromApiKey(api_key).newResponse()
        body = self._accessor(self._class("java.nio.ByteBuffer").wrap(self._bytes(data, newest)))
        parse = self._class("org.apache.kafka.common.requests.AbstractResponse").parseResponse
        response = parse(self._class("org.apache.kafka.common.protocol.ApiKeys").forId(api_key), body, newest)
        throttled = [version for version in range(newest + 1) if response.shouldClientThrottle(version)]
        return range(throttled[0], newest + 1) if throttled else range(0)

    def _data_class(self, cls: type[Message]) -> str:
        package = COORDINATOR_PACKAGES.get(cls.__module__.rpartition(".")[2], "common.message")
        return f"org.apache.kafka.{package}.{cls.__name__}" + ("Data" if issubclass(cls, (Request, Response)) else "")

    def _converter(self, cls: type[Message]) -> Any:
        return self._class(self._data_class(cls) + "JsonConverter")

    def _decode(self, cls: type[Message], version: int, body: bytes) -> Any:
        readable = self._accessor(self._class("java.nio.ByteBuffer").wrap(body))
        message = self._class(self._data_class(cls))(readable, version)
        assert readable.remaining() == 0
        return message

    def _bytes(self, message: Any, version: int) -> bytes:
        strings = self._class("org.apache.kafka.common.protocol.ObjectSerializationCache")()
        size = self._class("org.apache.kafka.common.protocol.MessageSizeAccumulator")()
        message.addSize(size, strings, version)
        buffer = self._class("java.nio.ByteBuffer").allocate(size.totalSize())
        message.write(self._accessor(buffer), strings, version)
        assert buffer.remaining() == 0
        return bytes(buffer.array())

    def _accessor(self, buffer: Any) -> Any:
        return self._class("org.apache.kafka.common.protocol.ByteBufferAccessor")(buffer)

    def sticky_user_data(self, assignor: str, assigned: dict[str, list[int]], *, generation: int) -> bytes:
        """User data that "StickyAssignor" or "CooperativeStickyAssignor" sends in the generation after an assignment."""
        consumer = "org.apache.kafka.clients.consumer."
        partitions = self._class("java.util.ArrayList")()
        for topic, numbers in assigned.items():
            for number in numbers:
                partitions.add(self._class("org.apache.kafka.common.TopicPartition")(topic, number))
        instance = self._class(consumer + assignor)()
        instance.onAssignment(
            self._class(consumer + "ConsumerPartitionAssignor.Assignment")(partitions),
            self._class(consumer + "ConsumerGroupMetadata")(
                "group", generation, "member", self._class("java.util.Optional").empty()
            ),
        )
        return self._content(instance.subscriptionUserData(self._class("java.util.HashSet")()))

    # Records

    def encode_records(
        self,
        magic: int,
        compression: str,
        records: Iterable[JavaRecord],
        *,
        base_offset: int = 0,
        log_append_time: int | None = None,
        producer: tuple[int, int, int] = (-1, -1, -1),
        transactional: bool = False,
    ) -> bytes:
        """One batch, or one message set. `producer` is id, epoch and base sequence."""
        times = self._class("org.apache.kafka.common.record.TimestampType")
        if magic == 0:
            kind = times.NO_TIMESTAMP_TYPE
        else:
            kind = times.CREATE_TIME if log_append_time is None else times.LOG_APPEND_TIME
        builder = self._class("org.apache.kafka.common.record.internal.MemoryRecords").builder(
            self._class("java.nio.ByteBuffer").allocate(1 << 16),
            magic,
            self._class("org.apache.kafka.common.compress.Compression").of(compression).build(),
            kind,
            base_offset,
            -1 if log_append_time is None else log_append_time,
            *producer,
            transactional,
            -1,  # the leader's epoch
        )
        for record in records:
            content = (record.key, record.value, *([self._headers(record.headers)] if record.headers else []))
            builder.appendWithOffset(record.offset, record.timestamp, *content)
        return self._content(builder.build().buffer())

    def encode_end_marker(self, producer_id: int, producer_epoch: int, *, commit: bool, coordinator_epoch: int) -> bytes:
        """The control batch that ends a transaction."""
        package = "org.apache.kafka.common.record.internal."
        kinds = self._class(package + "ControlRecordType")
        marker = self._class(package + "EndTransactionMarker")(kinds.COMMIT if commit else kinds.ABORT, coordinator_epoch)
        return self._content(
            self._class(package + "MemoryRecords").withEndTransactionMarker(producer_id, producer_epoch, marker).buffer()
        )

    def decode_records(self, data: bytes) -> list[JavaBatch]:
        """Every batch and what Java reads in it."""
        buffer = self._class("java.nio.ByteBuffer").wrap(data)
        found = self._class("org.apache.kafka.common.record.internal.MemoryRecords").readableRecords(buffer)
        return [self._batch(batch) for batch in _each(found.batches())]

    def _batch(self, batch: Any) -> JavaBatch:
        return JavaBatch(
            batch.magic(),
            batch.isValid(),
            batch.compressionType().toString(),
            batch.timestampType().toString(),
            batch.baseOffset(),
            batch.lastOffset(),
            batch.maxTimestamp(),
            batch.producerId(),
            batch.producerEpoch(),
            batch.baseSequence(),
            batch.isTransactional(),
            batch.isControlBatch(),
            [self._record(record) for record in _each(batch)],
        )

    def _record(self, record: Any) -> JavaRecord:
        key, value = (None if data is None else self._content(data) for data in (record.key(), record.value()))
        headers = tuple((h.key(), None if (data := h.value()) is None else bytes(data)) for h in record.headers())
        return JavaRecord(record.offset(), record.timestamp(), key, value, headers)

    def _headers(self, headers: Headers) -> Any:
        array = self._gateway.new_array(self._class("org.apache.kafka.common.header.Header"), len(headers))
        for at, (name, value) in enumerate(headers):
            array[at] = self._class("org.apache.kafka.common.header.internals.RecordHeader")(name, value)
        return array

    def _content(self, buffer: Any) -> bytes:
        return bytes(self._class("org.apache.kafka.common.utils.Utils").toArray(buffer))


def _each(iterable: Any) -> Iterable[Any]:
    iterator = iterable.iterator()
    while iterator.hasNext():
        yield iterator.next()
