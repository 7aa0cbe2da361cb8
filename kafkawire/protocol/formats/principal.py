"""DefaultPrincipalData: who sent a request, in the envelope in which a broker passes it to the controller (KIP-590)."""

from kafkawire.protocol.schema import Message, field
from kafkawire.protocol.wire import Bool, String

__all__ = ["DefaultPrincipalData"]


class DefaultPrincipalData(Message, versions="0", flexible="0+"):
    type: String = field()
    name: String = field()
    token_authenticated: Bool = field()
