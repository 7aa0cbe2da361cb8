"""TLS for both drivers: contexts from options, what a failed handshake means, and TLS without IO for the blocking driver."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafkawire.errors import ConfigurationError, NotKafkaError, TlsError
from kafkawire.net.base import HandshakeCut
from kafkawire.net.connect import AttemptFailed, reason_of

if TYPE_CHECKING:
    from kafkawire.config import TlsOptions

__all__ = ["TlsStream", "client_context", "handshake_failed", "rejected", "server_name"]

_NOT_TLS = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNEXPECTED_MESSAGE", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"}
"""OpenSSL's reasons when the other side's first bytes are no TLS record."""

_ABOUT_OUR_CERTIFICATE = ("CERTIFICATE", "UNKNOWN_CA", "HANDSHAKE_FAILURE")
"""Parts of alerts about the client's certificate; TLS 1.2 sends the last one for a missing certificate."""

_WRONG_HOST = 62
"""X509_V_ERR_HOSTNAME_MISMATCH; 64 is the same for IP addresses."""

_EXPIRED = 10
"""X509_V_ERR_CERT_HAS_EXPIRED."""


def client_context(options: TlsOptions) -> ssl.SSLContext:
    """Make the context for these options: each client reads the files as they are when it is made.

    Raises ConfigurationError for files that are missing, hold something else or do not fit together.
    """
    if options.context is not None:
        return options.context
    _content("ssl_cafile", options.cafile)
    try:
        context = ssl.create_default_context(cafile=options.cafile)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"ssl_cafile {options.cafile!r} holds no certificate in PEM form") from error
    context.check_hostname = options.check_hostname
    if options.certfile is not None:
        chain = _content("ssl_certfile", options.certfile)
        key = _content("ssl_keyfile", options.keyfile) or chain
        try:
            # Without a password OpenSSL would ask for one on the terminal.
            context.load_cert_chain(options.certfile, options.keyfile, options.password or "")
        except (OSError, ValueError) as error:
            raise ConfigurationError(_unfit(options, chain, key, error)) from error
    return context


def _content(option: str, path: str | None) -> bytes:
    """The bytes of an option's file, b"" without a path. Read here, as OpenSSL does not say which file it could not read."""
    if path is None:
        return b""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise ConfigurationError(f"{option} {path!r}: {reason_of(error)}") from error


def _unfit(options: TlsOptions, chain: bytes, key: bytes, error: Exception) -> str:
    """The reason why certificate and key cannot be used, found in the files: OpenSSL's is nearly always "PEM lib"."""
    of_key = f"ssl_certfile {options.certfile!r}" if options.keyfile is None else f"ssl_keyfile {options.keyfile!r}"
    if b"CERTIFICATE-----" not in chain:
        return f"ssl_certfile {options.certfile!r} holds no certificate in PEM form"
    if b"PRIVATE KEY-----" not in key:
        return f"{of_key} holds no private key in PEM form: name the file that does as ssl_keyfile"
    if isinstance(error, ssl.SSLError) and error.reason == "KEY_VALUES_MISMATCH":
        return f"the key of {of_key} does not belong to the certificate of ssl_certfile {options.certfile!r}"
    if b"ENCRYPTED" in key:
        return f"the key of {of_key} is under a password: is ssl_password right?"
    return f"ssl_certfile {options.certfile!r} with the key of {of_key}: {reason_of(error)}"


def server_name(host: str) -> str:
    """The host name for SNI and the certificate check, whatever address it was resolved to (trap 126).

    A dot at its end, which makes the name absolute (trap 110), belongs to neither.
    """
    return host.removesuffix(".")


def handshake_failed(error: OSError, host: str) -> AttemptFailed:
    """The failed attempt, with a reason that tells the user what to change."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = f"the broker's certificate was refused: {error.verify_message.rstrip('.')}. {_advice(error, host)}"
        return AttemptFailed("TLS", reason, TlsError)
    if isinstance(error, ssl.SSLError) and error.reason in _NOT_TLS:
        return AttemptFailed("TLS", "the port does not speak TLS: is security_protocol right?", NotKafkaError)
    if isinstance(error, ssl.SSLError) and (refusal := rejected(error)) is not None:
        return AttemptFailed("TLS", str(refusal), TlsError)
    if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return AttemptFailed("TLS", reason_of(error), TlsError)
    reason = "the connection was closed during the handshake: does this port speak TLS (security_protocol)?"
    return AttemptFailed("TLS", reason, HandshakeCut)


def rejected(error: OSError) -> TlsError | None:
    """The broker's refusal of the client's certificate, if the error is one; TLS 1.3 delivers it after the handshake."""
    reason = error.reason if isinstance(error, ssl.SSLError) else None
    if reason is None or "ALERT" not in reason or not any(what in reason for what in _ABOUT_OUR_CERTIFICATE):
        return None
    said = reason.lower().replace("_", " ")
    return TlsError(f"the broker refused this client in TLS ({said}): check ssl_certfile and ssl_keyfile")


def _advice(error: ssl.SSLCertVerificationError, host: str) -> str:
    if error.verify_code in (_WRONG_HOST, _WRONG_HOST + 2):
        return f"Connect by a name that is in it, or have one made for {host} (ssl_check_hostname=False turns the check off)"
    if error.verify_code == _EXPIRED:
        return "Have a new one installed at the broker, or check this computer's clock"
    return "Give the file of the authority that signed it as ssl_cafile"


class TlsStream:
    """The TLS side of one connection, fed and drained by its owner, who also locks: OpenSSL allows one thread at a time."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_hostname=server_name(host))
        self.feed = self._incoming.write
        self.sealed = self._outgoing.read
        """Takes the ciphertext that is to be sent, b"" if there is none."""

    def handshake(self) -> bool:
        """Go on with the handshake as far as the bytes fed allow; True when it is done. Raises ssl.SSLError."""
        try:
            self._object.do_handshake()
        except ssl.SSLWantReadError:
            return False
        return True

    def seal(self, parts: Sequence[bytes | bytearray | memoryview]) -> bytes:
        """Encrypt the parts; all ciphertext that is to be sent."""
        for part in parts:
            rest = memoryview(part)
            while rest:
                rest = rest[self._object.write(rest) :]
        return self.sealed()

    def read_into(self, buffer: memoryview) -> int:
        """Decrypt into the buffer; the count of bytes, 0 if more has to be fed. Raises SSLZeroReturnError at the end."""
        try:
            return self._object.read(len(buffer), buffer)  # type: ignore[return-value]
        except ssl.SSLWantReadError:
            return 0
