"""TLS options in the form that network drivers take."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from kafkawire.config.options import ConnectionOptions
from kafkawire.errors import ConfigurationError

if TYPE_CHECKING:
    import ssl

__all__ = ["TlsOptions", "tls_options"]


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """TLS settings of a connection. `context` is the user's own ssl.SSLContext, which excludes the other fields."""

    cafile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    password: str | None = field(default=None, repr=False)
    check_hostname: bool = True
    context: ssl.SSLContext | None = None


def tls_options(options: ConnectionOptions) -> TlsOptions | None:
    """Return the TLS settings for the drivers, None for PLAINTEXT. Raises ConfigurationError for contradictions."""
    names = ("ssl_cafile", "ssl_certfile", "ssl_keyfile", "ssl_password", "ssl_context")
    used = [name for name in names if cast(dict[str, Any], options)[name] is not None]
    if options["security_protocol"] == "PLAINTEXT":
        if used:
            raise ConfigurationError(f"{used[0]} is set but security_protocol is PLAINTEXT: set security_protocol='SSL'")
        return None
    if options["ssl_context"] is not None and len(used) > 1:
        raise ConfigurationError(f"ssl_context and {used[0]} are both set: your own context excludes the other options")
    if options["ssl_keyfile"] is not None and options["ssl_certfile"] is None:
        raise ConfigurationError("ssl_keyfile is set but ssl_certfile is not: name the certificate that the key belongs to")
    return TlsOptions(
        cafile=options["ssl_cafile"],
        certfile=options["ssl_certfile"],
        keyfile=options["ssl_keyfile"],
        password=options["ssl_password"],
        check_hostname=options["ssl_check_hostname"],
        context=options["ssl_context"],
    )
