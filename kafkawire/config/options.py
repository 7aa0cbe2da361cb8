"""Every option, declared once: name, type, default, limits and meaning.

The declarations are TypedDicts, so that one and the same line types the constructor's keywords
(`**options: Unpack[ProducerOptions]`), gives the default and checks the value. The dotted Kafka property of an option is its
name with dots for underscores (`linger_ms`, `linger.ms`); `_ms` options are whole milliseconds, `_bytes` and `_size` bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Annotated, Any, Generic, Literal, TypedDict, TypeVar, get_type_hints

from kafkawire.message import K, SentK, SentV, V

__all__ = ["ConnectionOptions", "ConsumerOptions", "Option", "Options", "ProducerOptions", "declared"]


@dataclass(frozen=True, slots=True)
class Option:
    """The default of an option, what it means, and the values it may have."""

    default: Any
    doc: str
    minimum: int | None = None
    choices: tuple[Any, ...] | None = None
    secret: bool = False
    same: Mapping[Any, Any] = field(default_factory=dict)
    """Values of other clients, in small letters -> ours with the same meaning."""
    hint: str = ""
    """Advice for a value that is not one of the choices."""


FOREVER = 2_147_483_647
"""The longest time and the most retries, of Kafka's own clients too."""


class ConnectionOptions(TypedDict, total=False):
    """How to reach a cluster; shared by Connection, Producer and Consumer."""

    bootstrap_servers: Annotated[
        str | Sequence[str], Option("localhost:9092", "host:port of some brokers, as a list or separated by commas")
    ]
    client_id: Annotated[str, Option("kafkawire", "the name that brokers log and apply quotas to", same={None: "kafkawire"})]
    security_protocol: Annotated[
        str,
        Option("PLAINTEXT", "how brokers are spoken to", choices=("PLAINTEXT", "SSL"), hint="SASL is not in this release yet"),
    ]
    ssl_cafile: Annotated[str | None, Option(None, "PEM file of the authorities to trust; None: the system's")]
    ssl_certfile: Annotated[str | None, Option(None, "PEM file of the client's certificate chain")]
    ssl_keyfile: Annotated[str | None, Option(None, "PEM file of the client's key; None: it is in ssl_certfile")]
    ssl_password: Annotated[str | None, Option(None, "password of the client's key", secret=True)]
    ssl_check_hostname: Annotated[bool, Option(True, "whether the certificate must be for the host that was asked for")]
    ssl_context: Annotated[Any, Option(None, "an ssl.SSLContext of your own, in place of the other ssl_ options")]
    request_timeout_ms: Annotated[int, Option(30_000, "how long a broker may take to answer one request", minimum=1)]
    default_api_timeout_ms: Annotated[int, Option(60_000, "the timeout of calls that are given none", minimum=1)]
    socket_connection_setup_timeout_ms: Annotated[int, Option(10_000, "how long one connect may take", minimum=1)]
    api_version_auto_timeout_ms: Annotated[
        int, Option(2_000, "how long to wait for ApiVersions, which 0.9 brokers never answer", minimum=1)
    ]
    metadata_max_age_ms: Annotated[int, Option(300_000, "when metadata is asked for again although nothing failed", minimum=1)]
    connections_max_idle_ms: Annotated[
        int, Option(540_000, "when an unused connection is replaced: before brokers close it, after 10 minutes", minimum=1)
    ]
    reconnect_backoff_ms: Annotated[int, Option(50, "the first pause before connecting to a broker again", minimum=0)]
    reconnect_backoff_max_ms: Annotated[int, Option(1_000, "the longest such pause", minimum=0)]
    retry_backoff_ms: Annotated[int, Option(100, "the first pause before a failed request is tried again", minimum=0)]
    retry_backoff_max_ms: Annotated[int, Option(1_000, "the longest such pause", minimum=0)]


class ProducerOptions(ConnectionOptions, Generic[SentK, SentV], total=False):
    """How records are sent."""

    acks: Annotated[
        Literal["all", -1, 0, 1],
        Option(
            "all",
            "who must have a record before it counts",
            choices=("all", -1, 0, 1),
            same={"-1": -1, "0": 0, "1": 1},
        ),
    ]
    enable_idempotence: Annotated[
        bool | None, Option(None, "whether retries can make no duplicates; None: where acks and the broker allow it")
    ]
    linger_ms: Annotated[int, Option(5, "how long a record may wait for others to share its batch", minimum=0)]
    batch_size: Annotated[int, Option(1_000_000, "the largest batch, before compression", minimum=1)]
    buffer_memory: Annotated[int, Option(33_554_432, "the bytes of records that may be waiting; then send() blocks", minimum=1)]
    max_block_ms: Annotated[
        int, Option(60_000, "how long send() may block for metadata or for room", minimum=0, same={inf: FOREVER})
    ]
    max_request_size: Annotated[int, Option(1_048_576, "the largest record, and the aim for a request", minimum=1)]
    delivery_timeout_ms: Annotated[
        int, Option(120_000, "when an unacknowledged record is given up", minimum=1, same={inf: FOREVER})
    ]
    exit_flush_timeout_ms: Annotated[
        int, Option(10_000, "how long the interpreter's end waits for records of producers that were not closed", minimum=0)
    ]
    retries: Annotated[int, Option(FOREVER, "how often a batch is sent again", minimum=0, same={inf: FOREVER})]
    max_in_flight_requests_per_connection: Annotated[int, Option(5, "requests that a broker may have unanswered", minimum=1)]
    compression_type: Annotated[
        str,
        Option("none", "the codec of batches", choices=("none", "gzip", "snappy", "lz4", "zstd"), same={None: "none"}),
    ]
    compression_level: Annotated[int | None, Option(None, "the codec's level; None: its default")]
    partitioner: Annotated[
        str | Callable[[bytes | None, int], int],
        Option(
            "murmur2",
            "where a record goes: murmur2 (Java), consistent (librdkafka), or a function of (key, partitions)",
            same={"murmur2_random": "murmur2"},
        ),
    ]
    allow_auto_create_topics: Annotated[bool, Option(True, "whether sending to a topic may create it, where brokers do so")]
    transactional_id: Annotated[
        str | None,
        Option(None, "the name of a transactional producer", choices=(None,), hint="transactions are not in this release yet"),
    ]
    key_serializer: Annotated[Callable[[SentK], bytes | None] | None, Option(None, "makes bytes of keys")]
    value_serializer: Annotated[Callable[[SentV], bytes | None] | None, Option(None, "makes bytes of values")]


class ConsumerOptions(ConnectionOptions, Generic[K, V], total=False):
    """How records are read."""

    auto_offset_reset: Annotated[
        str,
        Option(
            "latest",
            "where to start without a position",
            choices=("earliest", "latest", "none"),
            same={"smallest": "earliest", "beginning": "earliest", "largest": "latest", "end": "latest", "error": "none"},
            hint="to start at a time use offsets_for_times() and seek()",
        ),
    ]
    fetch_min_bytes: Annotated[int, Option(1, "what a broker waits for before it answers a fetch", minimum=0)]
    fetch_max_wait_ms: Annotated[int, Option(500, "and for how long", minimum=0)]
    fetch_max_bytes: Annotated[int, Option(52_428_800, "the aim for one answer of a broker", minimum=1)]
    max_partition_fetch_bytes: Annotated[int, Option(1_048_576, "the aim for one partition in it", minimum=1)]
    max_poll_records: Annotated[int, Option(500, "the most records that poll() returns unless told otherwise", minimum=1)]
    check_crcs: Annotated[bool, Option(True, "whether checksums are verified")]
    max_decompressed_bytes: Annotated[int, Option(268_435_456, "the most that one compressed batch may unpack to", minimum=1)]
    allow_auto_create_topics: Annotated[bool, Option(False, "whether asking for a topic may create it")]
    consumer_timeout_ms: Annotated[
        int | None,
        Option(None, "when iteration ends for want of records; None: never", minimum=0, same={inf: None, -1: None}),
    ]
    stop_at_end: Annotated[
        bool, Option(False, "whether iteration ends where the partitions ended when it began; paused ones do not count")
    ]
    group_id: Annotated[
        str | None,
        Option(None, "the consumer group to join", choices=(None,), hint="consumer groups are not in this release yet"),
    ]
    enable_auto_commit: Annotated[
        bool,
        Option(False, "whether positions are committed", choices=(False,), hint="consumer groups are not in this release yet"),
    ]
    isolation_level: Annotated[
        str,
        Option(
            "read_uncommitted",
            "which records of transactions are read",
            choices=("read_uncommitted",),
            hint="transactions are not in this release yet",
        ),
    ]
    key_deserializer: Annotated[Callable[[bytes], K] | None, Option(None, "makes keys of bytes")]
    value_deserializer: Annotated[Callable[[bytes], V] | None, Option(None, "makes values of bytes")]


Options = TypeVar("Options", bound=ConnectionOptions)

_declared: dict[type, Mapping[str, tuple[Any, Option]]] = {}


def declared(kind: type) -> Mapping[str, tuple[Any, Option]]:
    """Name -> (type, Option) of an options class."""
    if kind not in _declared:
        hints = get_type_hints(kind, include_extras=True)
        _declared[kind] = {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items()}
    return _declared[kind]
