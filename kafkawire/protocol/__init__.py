"""The Kafka protocol without IO: message classes, and bytes to and from them.

>>> from kafkawire import protocol
>>> body = protocol.encode(protocol.request("Metadata")(topics=None), 12)
>>> protocol.decode(protocol.request("Metadata"), 12, body)
MetadataRequest(topics=None)

Frames, with their headers and correlation ids, are in `kafkawire.protocol.frames`.
"""

from __future__ import annotations

from kafkawire.protocol.codec import decode, encode, encode_parts
from kafkawire.protocol.messages import request, response
from kafkawire.protocol.plain import from_dict, to_dict

__all__ = ["decode", "encode", "encode_parts", "from_dict", "request", "response", "to_dict"]
