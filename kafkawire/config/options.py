"""Every option, declared once: name, type, default, limits and meaning.

The declarations are TypedDicts, so that one and the same line types the constructor's keywords
(`**options: Unpack[ProducerOptions]`), gives the default and checks the value. The docstring below it is shown by editors, by
`help()`, in error messages and in docs/options.md (`kafkawire.config.documentation`). The dotted Kafka property of an option
is its name with dots for underscores (`linger_ms`, `linger.ms`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar, get_type_hints

from kafkawire.message import K, SentK, SentV, V
from kafkawire.protocol.compression import CODEC_NAMES

__all__ = ["ConnectionOptions", "ConsumerOptions", "Option", "Options", "ProducerOptions", "declared", "secret_names"]


@dataclass(frozen=True, slots=True)
class Option:
    """Default of an option and the values it may have. Its meaning is the docstring below its declaration."""

    default: Any
    minimum: int | None = None
    choices: tuple[Any, ...] | None = None
    secret: bool = False
    same: Mapping[Any, Any] = field(default_factory=dict)
    """Values of other clients, in lower case -> ours with the same meaning."""
    hint: str = ""
    """Advice for a value that is not one of the choices."""


FOREVER = 2_147_483_647
"""Longest time and largest number of retries, in Kafka's own clients too."""


class ConnectionOptions(TypedDict, total=False):
    """Options to reach a cluster, shared by Connection, Producer and Consumer."""

    bootstrap_servers: Annotated[str | Sequence[str], Option("localhost:9092")]
    """Brokers to ask first, each as host:port, as a list or separated by commas; the others are learnt from them."""
    client_id: Annotated[str, Option("kafkawire", same={None: "kafkawire"})]
    """Name of the client in the logs and quotas of brokers."""
    security_protocol: Annotated[str, Option("PLAINTEXT", choices=("PLAINTEXT", "SSL"), hint="SASL is not in this release yet")]
    """Protocol of the connections to brokers: PLAINTEXT, or SSL for TLS."""
    ssl_cafile: Annotated[str | None, Option(None)]
    """PEM file of the certificate authorities to trust; None for those of the system."""
    ssl_certfile: Annotated[str | None, Option(None)]
    """PEM file of the client's certificate chain, for brokers that ask for one."""
    ssl_keyfile: Annotated[str | None, Option(None)]
    """PEM file of the client's private key; None if it is in ssl_certfile."""
    ssl_password: Annotated[str | None, Option(None, secret=True)]
    """Password of the client's private key, if that is encrypted."""
    ssl_check_hostname: Annotated[bool, Option(True)]
    """True if the certificate of a broker must be for the host name that the client connects to."""
    ssl_context: Annotated[Any, Option(None)]
    """An ssl.SSLContext of your own, in place of all other ssl_ options."""
    request_timeout_ms: Annotated[int, Option(30_000, minimum=1)]
    """Time in milliseconds that a broker may take to answer one request."""
    default_api_timeout_ms: Annotated[int, Option(60_000, minimum=1)]
    """Timeout in milliseconds of calls that are given none."""
    socket_connection_setup_timeout_ms: Annotated[int, Option(10_000, minimum=1)]
    """Time in milliseconds that one attempt to connect to a broker may take, TLS handshake included."""
    api_version_auto_timeout_ms: Annotated[int, Option(2_000, minimum=1)]
    """Time in milliseconds to wait for the answer to ApiVersions, which brokers before 0.10 never give."""
    metadata_max_age_ms: Annotated[int, Option(300_000, minimum=1)]
    """Age in milliseconds at which metadata is refreshed although no request failed."""
    connections_max_idle_ms: Annotated[int, Option(540_000, minimum=1)]
    """Idle time in milliseconds after which a connection is replaced before its next use; brokers close it after 10 minutes."""
    reconnect_backoff_ms: Annotated[int, Option(50, minimum=0)]
    """First pause in milliseconds before another attempt to connect to the same broker; it doubles with each failure."""
    reconnect_backoff_max_ms: Annotated[int, Option(1_000, minimum=0)]
    """Longest pause in milliseconds between attempts to connect to the same broker."""
    retry_backoff_ms: Annotated[int, Option(100, minimum=0)]
    """First pause in milliseconds before a failed request is retried; it doubles with each failure."""
    retry_backoff_max_ms: Annotated[int, Option(1_000, minimum=0)]
    """Longest pause in milliseconds between retries of a request."""


class ProducerOptions(ConnectionOptions, Generic[SentK, SentV], total=False):
    """Options of a Producer, those of its connection included."""

    acks: Annotated[Literal["all", -1, 0, 1], Option("all", choices=("all", -1, 0, 1), same={"-1": -1, "0": 0, "1": 1})]
    """Replicas that must have a record before it is acknowledged: "all" or -1 for all in sync, 1 for the leader, 0 for none."""
    enable_idempotence: Annotated[bool | None, Option(None)]
    """True if the broker must recognise retries, so that they make no duplicates; None where acks and the broker allow it."""
    linger_ms: Annotated[int, Option(5, minimum=0)]
    """Time in milliseconds that a record may wait for others to share its batch."""
    batch_size: Annotated[int, Option(1_000_000, minimum=1)]
    """Largest size of a batch in bytes, before compression; a larger record gets a batch of its own."""
    buffer_memory: Annotated[int, Option(33_554_432, minimum=1)]
    """Bytes of records that may wait to be acknowledged; beyond that, send() blocks."""
    max_block_ms: Annotated[int, Option(60_000, minimum=0, same={inf: FOREVER})]
    """Time in milliseconds that send() may block for metadata or for room in buffer_memory."""
    max_request_size: Annotated[int, Option(1_048_576, minimum=1)]
    """Largest size of a record in bytes, and the size that a Produce request does not exceed with more than one batch."""
    delivery_timeout_ms: Annotated[int, Option(120_000, minimum=1, same={inf: FOREVER})]
    """Time in milliseconds after which a record that is not acknowledged fails."""
    exit_flush_timeout_ms: Annotated[int, Option(10_000, minimum=0)]
    """Time in milliseconds for which the end of the interpreter waits for records of producers that were not closed."""
    retries: Annotated[int, Option(FOREVER, minimum=0, same={inf: FOREVER})]
    """Number of times that a batch is sent again after a retriable error, within delivery_timeout_ms."""
    max_in_flight_requests_per_connection: Annotated[int, Option(5, minimum=1)]
    """Number of Produce requests that one broker may have unanswered."""
    compression_type: Annotated[str, Option("none", choices=CODEC_NAMES, same={None: "none"})]
    """Codec that batches are compressed with."""
    compression_level: Annotated[int | None, Option(None)]
    """Level of the codec, in its own scale; None for the default of the codec."""
    partitioner: Annotated[str | Callable[[bytes | None, int], int], Option("murmur2", same={"murmur2_random": "murmur2"})]
    """Choice of the partition by key: "murmur2" (as Java), "consistent" (as librdkafka), or a function of (key, partitions)."""
    allow_auto_create_topics: Annotated[bool, Option(True)]
    """True if sending to a topic that does not exist may create it, where the broker's configuration does so."""
    transactional_id: Annotated[str | None, Option(None, choices=(None,), hint="transactions are not in this release yet")]
    """Name of a transactional producer."""
    key_serializer: Annotated[Callable[[SentK], bytes | None] | None, Option(None)]
    """Function that makes bytes of a key; None if keys are bytes already."""
    value_serializer: Annotated[Callable[[SentV], bytes | None] | None, Option(None)]
    """Function that makes bytes of a value; None if values are bytes already."""


class ConsumerOptions(ConnectionOptions, Generic[K, V], total=False):
    """Options of a Consumer, those of its connection included."""

    auto_offset_reset: Annotated[
        str,
        Option(
            "latest",
            choices=("earliest", "latest", "none"),
            same={"smallest": "earliest", "beginning": "earliest", "largest": "latest", "end": "latest", "error": "none"},
            hint="to start at a time use offsets_for_times() and seek()",
        ),
    ]
    """Offset to start at without a valid position: "earliest", "latest", or "none" to raise OffsetOutOfRangeError."""
    fetch_min_bytes: Annotated[int, Option(1, minimum=0)]
    """Bytes that a broker waits for before it answers a Fetch request, for up to fetch_max_wait_ms."""
    fetch_max_wait_ms: Annotated[int, Option(500, minimum=0)]
    """Time in milliseconds that a broker waits for fetch_min_bytes."""
    fetch_max_bytes: Annotated[int, Option(52_428_800, minimum=1)]
    """Size in bytes that the answer to a Fetch request aims at; a first batch that is larger comes whole."""
    max_partition_fetch_bytes: Annotated[int, Option(1_048_576, minimum=1)]
    """Size in bytes that the records of one partition in a Fetch answer aim at; a first batch that is larger comes whole."""
    max_poll_records: Annotated[int, Option(500, minimum=1)]
    """Number of records that poll() returns at most, unless it is given max_records."""
    check_crcs: Annotated[bool, Option(True)]
    """True if the checksums of batches are verified."""
    max_decompressed_bytes: Annotated[int, Option(268_435_456, minimum=1)]
    """Size in bytes that one compressed batch may unpack to; a larger one raises CorruptRecordsError."""
    allow_auto_create_topics: Annotated[bool, Option(False)]
    """True if naming a topic that does not exist may create it, where the broker's configuration does so."""
    consumer_timeout_ms: Annotated[int | None, Option(None, minimum=0, same={inf: None, -1: None})]
    """Time in milliseconds without a record after which iteration ends; None for never."""
    stop_at_end: Annotated[bool, Option(False)]
    """True if iteration ends at the offsets that were the end when it began, paused partitions not counted."""
    group_id: Annotated[str | None, Option(None, choices=(None,), hint="consumer groups are not in this release yet")]
    """Name of the consumer group to join."""
    enable_auto_commit: Annotated[bool, Option(False, choices=(False,), hint="consumer groups are not in this release yet")]
    """True if the positions are committed for the group."""
    isolation_level: Annotated[
        str, Option("read_uncommitted", choices=("read_uncommitted",), hint="transactions are not in this release yet")
    ]
    """Records of transactions that are read: with "read_uncommitted" all."""
    key_deserializer: Annotated[Callable[[bytes], K] | None, Option(None)]
    """Function that makes a key of bytes; None to return keys as bytes."""
    value_deserializer: Annotated[Callable[[bytes], V] | None, Option(None)]
    """Function that makes a value of bytes; None to return values as bytes."""


Options = TypeVar("Options", bound=ConnectionOptions)

_declared: dict[type, dict[str, tuple[Any, Option]]] = {}


def declared(kind: type) -> dict[str, tuple[Any, Option]]:
    """Return the options of an options class: name -> (type, Option)."""
    if kind not in _declared:
        hints = get_type_hints(kind, include_extras=True)
        _declared[kind] = {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items()}
    return _declared[kind]


@cache
def secret_names() -> frozenset[str]:
    """Return the names of all options that are declared secret."""
    declarations = declared(ProducerOptions) | declared(ConsumerOptions)
    return frozenset(name for name, (_, option) in declarations.items() if option.secret)
