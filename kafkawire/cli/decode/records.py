"""Record batches, message sets and a broker's segment files, as lines: each batch, then its records. One batch is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from io import BytesIO
from typing import BinaryIO, Final

from kafkawire import protocol
from kafkawire.cli.decode.values import Line, readable, text
from kafkawire.errors import CorruptRecordsError, DecodeError
from kafkawire.message import Message
from kafkawire.protocol.compression import Codec
from kafkawire.protocol.formats.logged import ControlRecordType, CoordinatorRecord
from kafkawire.protocol.records import RecordBatch, decode_columns, messages, read_batches
from kafkawire.protocol.records.layout import LENGTH_END, UP_TO_MAGIC
from kafkawire.protocol.wire import Buffer

__all__ = ["record_lines", "records_inside"]

PIECE: Final = 1024 * 1024
"""Bytes read at once: a length that lies costs no more memory than there are bytes."""

INTERNAL: Final[dict[str, Callable[[bytes, bytes | None], CoordinatorRecord]]] = {
    "__consumer_offsets": protocol.offsets_record,
    "__transaction_state": protocol.transaction_record,
}

TIMESTAMP_TYPES: Final = {-1: None, 0: "CreateTime", 1: "LogAppendTime"}


class CutOffError(CorruptRecordsError):
    """The last batch is not there to its end."""


def record_lines(stream: BinaryIO, topic: str = "") -> Iterator[Line]:
    """The batches of a stream and their records; those of the two internal topics decoded, control records named.

    Raises CorruptRecordsError with the byte of the stream where the first damaged batch begins.
    """
    for position, data in _batches(stream):
        try:
            for batch in read_batches(data):
                if batch.magic == 2 or batch.codec is not Codec.NONE:
                    yield {"batch": _batch_line(batch, position)}
                for message in messages(decode_columns([batch]), topic, 0):
                    yield _record_line(message, batch)
        except CorruptRecordsError as error:
            raise CorruptRecordsError(error.reason, offset=position + (error.offset or 0)) from error


def records_inside(data: Buffer) -> list[Line]:
    """The records of a message's records field. A fetch may end in the middle of a batch (trap 41); damage ends the list."""
    found: list[Line] = []
    try:
        found.extend(record_lines(BytesIO(data)))
    except CutOffError as error:
        found.append({"cutOff": error.reason})
    except CorruptRecordsError as error:
        found.append({"error": str(error)})
    return found


def _batches(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Each batch, or message of formats 0 and 1, with the byte where it begins."""
    position = 0
    while head := _take(stream, UP_TO_MAGIC.size):
        if not any(head) and _only_zeros(stream):
            return  # zeros of a file that was made at its full size (log.preallocate)
        if len(head) < UP_TO_MAGIC.size:
            raise CutOffError(f"the last batch is cut off after {len(head)} bytes", offset=position)
        _, length, _, magic = UP_TO_MAGIC.unpack(head)
        if magic not in (0, 1, 2):
            raise CorruptRecordsError(f"unknown message format {magic}", offset=position + UP_TO_MAGIC.size - 1)
        data = head + _take(stream, LENGTH_END + length - len(head))
        if len(data) < LENGTH_END + length:
            raise CutOffError(f"the last batch is cut off after {len(data)} of {LENGTH_END + length} bytes", offset=position)
        yield position, data
        position += len(data)


def _take(stream: BinaryIO, size: int) -> bytes:
    pieces = []
    while size > 0 and (piece := stream.read(min(size, PIECE))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _only_zeros(stream: BinaryIO) -> bool:
    while piece := stream.read(PIECE):
        if any(piece):
            return False
    return True


def _batch_line(batch: RecordBatch, position: int) -> Line:
    line: Line = {
        "position": position,
        "size": batch.size,
        "magic": batch.magic,
        "codec": batch.codec.name.lower(),
        "timestampType": TIMESTAMP_TYPES[batch.timestamp_type],
    }
    if batch.magic < 2:
        return line | {"lastOffset": batch.base_offset}
    return line | {
        "baseOffset": batch.base_offset,
        "lastOffset": batch.next_offset - 1,
        "count": batch.count,
        "maxTimestamp": batch.max_timestamp,
        "leaderEpoch": batch.leader_epoch,
        "producerId": batch.producer_id,
        "producerEpoch": batch.producer_epoch,
        "baseSequence": batch.base_sequence,
        "isTransactional": batch.is_transactional,
        "isControl": batch.is_control,
    }


def _record_line(message: Message, batch: RecordBatch) -> Line:
    line: Line = {"offset": message.offset, "timestamp": message.timestamp}
    if message.headers:
        line["headers"] = [[name, text(value)] for name, value in message.headers]
    try:
        if batch.is_control and message.key is not None:
            return line | _control(message.key, message.value)
        if message.topic in INTERNAL and message.key is not None:
            return line | _internal(INTERNAL[message.topic](message.key, message.value))
    except DecodeError as error:
        line["error"] = str(error)
    return line | {"key": text(message.key), "value": text(message.value)}


def _control(key: bytes, value: bytes | None) -> Line:
    record = protocol.control_record(key, value)
    kind = record.type.name if isinstance(record.type, ControlRecordType) else record.type
    return {"control": kind, "value": text(value) if record.value is None else protocol.to_dict(record.value)}


def _internal(record: CoordinatorRecord) -> Line:
    line: Line = {"type": type(record.key).__name__.removesuffix("Key"), "key": protocol.to_dict(record.key)}
    if record.value is None:
        return line | {"value": None}
    return line | {"version": record.value.version, "value": readable(record.value.message, record.value.version)}
