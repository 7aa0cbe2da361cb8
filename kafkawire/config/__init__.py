"""Options of the clients: their declarations, defaults and checks."""

from __future__ import annotations

from kafkawire.config.options import ConnectionOptions, ConsumerOptions, Option, ProducerOptions, declared
from kafkawire.config.properties import from_properties
from kafkawire.config.servers import parse_servers
from kafkawire.config.tls import TlsOptions, tls_options
from kafkawire.config.values import connection_part, forget_secrets, resolve, resolve_shared

__all__ = [
    "ConnectionOptions",
    "ConsumerOptions",
    "Option",
    "ProducerOptions",
    "TlsOptions",
    "connection_part",
    "declared",
    "forget_secrets",
    "from_properties",
    "parse_servers",
    "resolve",
    "resolve_shared",
    "tls_options",
]
