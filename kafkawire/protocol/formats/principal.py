"""DefaultPrincipalData: the sender of a request that a broker forwards to the controller in an envelope (KIP-590)."""

from kafkawire.protocol.schema import Message, field
from kafkawire.protocol.wire import Bool, String

__all__ = ["DefaultPrincipalData"]


class DefaultPrincipalData(Message, versions="0", flexible="0+"):
    type: String = field()
    name: String = field()
    token_authenticated: Bool = field()
