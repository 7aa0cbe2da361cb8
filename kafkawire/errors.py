"""Exceptions, one class for each reaction that a caller can have."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

from kafkawire.error_codes import ErrorCode

if TYPE_CHECKING:
    from kafkawire.message import Message

__all__ = [
    "AuthenticationError",
    "AuthorizationError",
    "BootstrapError",
    "BrokerError",
    "ClosedError",
    "ConcurrentUseError",
    "ConfigurationError",
    "ConnectError",
    "ConnectionLost",
    "CorruptRecordsError",
    "DecodeError",
    "DeliveryError",
    "DeliveryTimedOut",
    "DeserializationError",
    "EncodeError",
    "ErrorCode",
    "ForkedError",
    "KafkaError",
    "MessageTooLargeError",
    "MissingDependencyError",
    "NetworkError",
    "NotKafkaError",
    "OffsetOutOfRangeError",
    "OwnLimitError",
    "RequestTimedOut",
    "TimedOut",
    "TlsError",
    "UnknownTopicError",
    "UnsupportedVersionError",
    "WrongLoopError",
    "broker_error",
]


class KafkaError(Exception):
    """Base class of all errors that kafkawire raises on purpose."""

    retriable = False
    """True if the same call may succeed later although its caller changes nothing."""


class ConfigurationError(KafkaError, ValueError):
    """An option or argument is unknown, contradictory or out of range: change the call."""


class MissingDependencyError(KafkaError, ImportError):
    """An optional package is needed: install the one that the message names."""


class ClosedError(KafkaError, RuntimeError):
    """The object was closed before this call: make a new one."""


class ForkedError(ClosedError):
    """The object was made in the parent process; sockets and sequences cannot be shared: make a new one in the child."""


class ConcurrentUseError(KafkaError, RuntimeError):
    """A second thread called a consumer that is in use: give each thread its own. Or a signal handler called it."""


class WrongLoopError(KafkaError, RuntimeError):
    """An object of `kafkawire.aio` was used in another event loop: use and close it in the loop it was made in."""


class TimedOut(KafkaError, TimeoutError):
    """The time given to a call ran out; the message says what it was waiting for. Nothing was lost: call again."""

    retriable = True


class RequestTimedOut(TimedOut):
    """A broker did not answer a request within its deadline; it may have acted on the request all the same."""


class DeliveryTimedOut(TimedOut):
    """A record was not acknowledged within delivery_timeout_ms; it may have been written all the same (trap 65)."""


class NetworkError(KafkaError, ConnectionError):
    """A broker could not be reached or the connection was lost; trying again may help."""

    retriable = True


class ConnectError(NetworkError):
    """A connection failed: the message names the stage (resolve, connect, TLS, ApiVersions) and the addresses tried."""


class BootstrapError(ConnectError):
    """None of the bootstrap servers answered as a Kafka broker; the message has a reason for each."""


class NotKafkaError(ConnectError):
    """The port does not speak the Kafka protocol (but HTTP, or TLS or none where the other was expected, ...).

    Correct the address or security_protocol; trying again does not help.
    """

    retriable = False


class TlsError(ConnectError):
    """One end of a TLS connection refuses the other, most often for its certificate.

    The message names the end, the reason and the option to change; trying again does not help.
    """

    retriable = False


class ConnectionLost(NetworkError):
    """A connection ended while requests were outstanding on it."""


class DecodeError(KafkaError, ValueError):
    """Bytes could not be decoded as the message that they should be.

    `api` is the message's name (None below the message layer), `version` its version and `offset` the byte where reading
    stopped.
    """

    retriable = True
    """True: a bad connection may have garbled the bytes, and the next try may not."""

    def __init__(self, reason: str, *, api: str | None = None, version: int | None = None, offset: int | None = None) -> None:
        where = f"{api} v{version}" if api is not None else "data"
        at = f" at byte {offset}" if offset is not None else ""
        super().__init__(f"malformed {where}{at}: {reason}")
        self.reason = reason
        self.api = api
        self.version = version
        self.offset = offset

    def within(self, where: str) -> Self:
        """A copy of the error that names the place of the damage."""
        return type(self)(f"{where}: {self.reason}", api=self.api, version=self.version, offset=self.offset)

    def __reduce__(self) -> tuple[Any, ...]:
        return partial(type(self), api=self.api, version=self.version, offset=self.offset), (self.reason,)


class CorruptRecordsError(DecodeError):
    """A record batch whose checksum, lengths or counts are wrong. The position is kept: seek past it to go on."""

    retriable = False


class EncodeError(KafkaError, ValueError):
    """A value cannot be encoded, at all or in the version that the broker speaks."""


class UnsupportedVersionError(KafkaError):
    """The broker is too old (or too new) for the request."""


class DeserializationError(KafkaError):
    """A deserializer raised. `message` is the record as it was read: seek to its `next_offset` to go on without it."""

    def __init__(self, message: Message, cause: Exception) -> None:
        where = f"{message.topic} partition {message.partition} at offset {message.offset}"
        super().__init__(f"{where}: a deserializer raised {cause!r}; seek to {message.next_offset} to skip the record")
        self.message = message


class DeliveryError(KafkaError):
    """Some records were not written; the others were.

    Raised by the handle of `send_many` and its like, `failed` has the error of each record, by its index in the call. Raised
    at the end of a producer's `with` statement, for records whose handle was never asked, `failed` is empty.
    """

    def __init__(self, message: str, failed: dict[int, KafkaError]) -> None:
        super().__init__(message, failed)
        self.failed = failed

    def __str__(self) -> str:
        return str(self.args[0])


class BrokerError(KafkaError):
    """A broker answered with an error code. Make one with `broker_error`, which picks the subclass."""

    def __init__(self, code: int, context: str) -> None:
        super().__init__(code, context)
        self.code = int(code)
        """The number that the broker sent."""
        self.error = ErrorCode.of(code)
        """Its meaning; UNKNOWN_SERVER_ERROR for a number that this version does not know."""
        self.context = context
        """The request that failed and the broker it went to, in words."""
        self.retriable = self.error.retriable

    def __str__(self) -> str:
        if self.code != self.error:
            return f"{self.context}: error {self.code}, which this version of kafkawire does not know"
        return f"{self.context}: {self.error.text} ({self.error.name}, {self.code})"


class UnknownTopicError(BrokerError):
    """The topic or partition does not exist, or not yet everywhere: create it, correct the name, or wait."""


class OffsetOutOfRangeError(BrokerError):
    """The position is before the first offset kept or after the last: seek, or set auto_offset_reset."""


class MessageTooLargeError(BrokerError):
    """A record or batch is larger than a limit, which the message names: send or ask for less at once, or raise the limit."""


class OwnLimitError(MessageTooLargeError):
    """A record or batch is larger than an option of this client allows; the message names the option."""

    def __str__(self) -> str:
        return self.context


class AuthorizationError(BrokerError):
    """The principal lacks a permission: have an ACL added. Trying again does not help."""


class AuthenticationError(BrokerError):
    """The broker refused the credentials or the mechanism: correct them. Trying again does not help."""


_SUBCLASSES: dict[ErrorCode, type[BrokerError]] = {
    ErrorCode.OFFSET_OUT_OF_RANGE: OffsetOutOfRangeError,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopicError,
    ErrorCode.UNKNOWN_TOPIC_ID: UnknownTopicError,
    ErrorCode.MESSAGE_TOO_LARGE: MessageTooLargeError,
    ErrorCode.RECORD_LIST_TOO_LARGE: MessageTooLargeError,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: AuthorizationError,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: AuthorizationError,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: AuthorizationError,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: AuthorizationError,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: AuthorizationError,
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: AuthenticationError,
    ErrorCode.ILLEGAL_SASL_STATE: AuthenticationError,
    ErrorCode.SASL_AUTHENTICATION_FAILED: AuthenticationError,
}


def broker_error(code: int, context: str) -> BrokerError:
    """The exception for an error code. `context` names request and broker ("fetch of flights-3 from broker 2")."""
    return _SUBCLASSES.get(ErrorCode.of(code), BrokerError)(code, context)
