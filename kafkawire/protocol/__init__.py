"""The Kafka protocol without IO: message classes, and bytes to and from them.

from kafkawire import protocol

Metadata = protocol.request("Metadata")
body = protocol.encode(Metadata(topics=None), 12)
answer = protocol.decode(protocol.response("Metadata"), 12, data)
"""

from __future__ import annotations

from kafkawire.protocol.codec import decode, encode, encode_parts
from kafkawire.protocol.messages import request, response
from kafkawire.protocol.plain import from_dict, to_dict

__all__ = ["decode", "encode", "encode_parts", "from_dict", "request", "response", "to_dict"]
