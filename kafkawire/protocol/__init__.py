"""The Kafka protocol without IO: message classes, and bytes to and from them.

>>> from kafkawire import protocol
>>> body = protocol.encode(protocol.request("Metadata")(topics=None), 12)
>>> protocol.decode(protocol.request("Metadata"), 12, body)
MetadataRequest(topics=None)

`encode_frame`, `decode_request` and `decode_response` deal in whole frames; the two ends of a connection, which cut a stream
into frames, are in `kafkawire.protocol.frames`. `data(name)` has the classes of other formats, such as subscriptions, control
records and the records of the internal topics.
"""

from __future__ import annotations

from kafkawire.protocol.codec import decode, encode, encode_parts
from kafkawire.protocol.formats import data
from kafkawire.protocol.formats.logged import control_record, offsets_record, transaction_record
from kafkawire.protocol.formats.versioned import decode_versioned, encode_versioned
from kafkawire.protocol.frames import decode_request, decode_response, encode_frame
from kafkawire.protocol.messages import request, response
from kafkawire.protocol.plain import from_dict, to_dict

__all__ = [
    "control_record",
    "data",
    "decode",
    "decode_request",
    "decode_response",
    "decode_versioned",
    "encode",
    "encode_frame",
    "encode_parts",
    "encode_versioned",
    "from_dict",
    "offsets_record",
    "request",
    "response",
    "to_dict",
    "transaction_record",
]
