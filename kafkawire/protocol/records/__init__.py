"""Record batches (format 2) and message sets (formats 0 and 1): columns first, objects on demand.

Reading: `read_batches` tells the batches of a fetch apart, `decode_columns` reads the records of many at once, and
`messages`, `values` and `to_arrow` make objects of them; `Unread` decodes slice by slice, since compressed batches may unpack
to any size. Writing: `encode_columns` or `encode_record`, then `seal_batch`; `encode_message_set` for brokers before 0.11.
"""

from __future__ import annotations

from kafkawire.protocol.records.batches import RecordBatch, read_batches
from kafkawire.protocol.records.columns import RecordColumns
from kafkawire.protocol.records.decode import decode_columns
from kafkawire.protocol.records.encode import encode_columns, encode_record, seal_batch
from kafkawire.protocol.records.layout import BATCH_OVERHEAD
from kafkawire.protocol.records.legacy import encode_message_set
from kafkawire.protocol.records.slices import SLICE_BYTES, Slice, Unread
from kafkawire.protocol.records.views import arrow_schema, messages, no_rows, to_arrow, values

__all__ = [
    "BATCH_OVERHEAD",
    "SLICE_BYTES",
    "RecordBatch",
    "RecordColumns",
    "Slice",
    "Unread",
    "arrow_schema",
    "decode_columns",
    "encode_columns",
    "encode_message_set",
    "encode_record",
    "messages",
    "no_rows",
    "read_batches",
    "seal_batch",
    "to_arrow",
    "values",
]
