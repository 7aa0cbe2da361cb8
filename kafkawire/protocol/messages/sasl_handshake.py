"""SaslHandshake: choose the SASL mechanism (KIP-43).

After version 1 the exchange travels in SaslAuthenticate, after version 0 as bare size-delimited bytes (KIP-152).
"""

from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Int16, String

__all__ = ["SaslHandshakeRequest", "SaslHandshakeResponse"]


class SaslHandshakeRequest(Request, key=17, versions="0-1"):
    mechanism: String = field()


class SaslHandshakeResponse(Response, key=17, versions="0-1"):
    error_code: Int16 = field()
    mechanisms: list[String] = field()
