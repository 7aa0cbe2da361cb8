"""Every option, declared once: name, type, default, unit, limits and meaning.

The declarations are TypedDicts, so that one and the same line types the constructor's keywords
(`**options: Unpack[ProducerOptions]`), gives the default and checks the value. The dotted Kafka property of an option is its
name with dots for underscores (`linger_ms`, `linger.ms`); `_ms` options are whole milliseconds, `_bytes` and `_size` bytes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Generic,
    Literal,
    TypedDict,
    TypeVar,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from kafkawire.errors import ConfigurationError
from kafkawire.foreign_options import advice, is_foreign
from kafkawire.message import K, SentK, SentV, V

if TYPE_CHECKING:
    import ssl

__all__ = [
    "ConnectionOptions",
    "ConsumerOptions",
    "Option",
    "ProducerOptions",
    "TlsOptions",
    "connection_part",
    "forget_secrets",
    "from_properties",
    "parse_servers",
    "resolve",
    "resolve_shared",
    "tls_options",
]


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


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """How a connection is secured. `context` is the user's own ssl.SSLContext and excludes the rest."""

    cafile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    password: str | None = field(default=None, repr=False)
    check_hostname: bool = True
    context: ssl.SSLContext | None = None


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

_SECRET = {"ssl_password"}

_declared: dict[type, Mapping[str, tuple[Any, Option]]] = {}


def declared(kind: type) -> Mapping[str, tuple[Any, Option]]:
    """Name -> (type, Option) of an options class."""
    if kind not in _declared:
        hints = get_type_hints(kind, include_extras=True)
        _declared[kind] = {name: (hint.__origin__, hint.__metadata__[0]) for name, hint in hints.items()}
    return _declared[kind]


def resolve(kind: type[Options], given: Mapping[str, Any]) -> Options:
    """All options of `kind`: what was given, checked, over the defaults.

    Raises ConfigurationError for an unknown name (naming the nearest valid one), a value of the wrong type or out of range.
    """
    table = declared(kind)
    values = {name: option.default for name, (_, option) in table.items()}
    for name, value in given.items():
        if name in table:
            hint, option = table[name]
            values[name] = _checked(name, _meant(value, option), hint, option)
        elif not _unset(name, value):
            raise ConfigurationError(f"unknown option {name!r}{_advice(name, table)}")
    return cast(Options, _Resolved(values))


class _Resolved(dict[str, Any]):
    """Options whose secrets do not show."""

    def __repr__(self) -> str:
        return repr({name: "(hidden)" if name in _SECRET and value is not None else value for name, value in self.items()})


def resolve_shared(kind: type[Options], given: Mapping[str, Any], connection: ConnectionOptions | None) -> Options:
    """The same for something that may use a connection made before, whose options it then has."""
    if connection is None:
        return resolve(kind, given)
    fixed = sorted(set(given) & set(declared(ConnectionOptions)))
    if fixed:
        raise ConfigurationError(f"{fixed[0]} belongs to the connection: give it there, or give no connection")
    return resolve(kind, {**connection, **given})


def connection_part(options: ConnectionOptions) -> ConnectionOptions:
    """The options that a connection of its own is made with."""
    names = declared(ConnectionOptions)
    return cast(ConnectionOptions, {name: value for name, value in options.items() if name in names})


def from_properties(kind: type[ConnectionOptions], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Keyword options from dotted Kafka properties, whose values may be text as in a properties file."""
    table = declared(kind)
    options = {}
    for key, value in properties.items():
        name = key.replace(".", "_")
        if name in table:
            options[name] = _parse(key, value, table[name][0]) if isinstance(value, str) else value
        elif not _unset(name, value):
            raise ConfigurationError(f"unknown property {key!r}{_advice(name, table, dotted=True)}")
    return options


def parse_servers(servers: str | Sequence[str]) -> list[tuple[str, int]]:
    """(host, port) pairs of `bootstrap_servers`; IPv6 addresses stand in brackets (trap 110)."""
    texts = [text for text in servers.split(",") if text.strip()] if isinstance(servers, str) else servers
    given: Any = texts
    if not isinstance(given, Sequence) or not all(isinstance(text, str) for text in given):
        raise ConfigurationError(f"bootstrap_servers: {servers!r} is neither text nor a list of texts, each host:port")
    pairs = []
    for text in (text.strip() for text in texts):
        host, colon, port = text.rpartition(":")
        if host.startswith("[") and host.endswith("]"):
            host = host[1:-1]
        elif ":" in host:
            colon = ""
        if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
            raise ConfigurationError(f"bootstrap_servers: {text!r} is not host:port (IPv6: [address]:port)")
        pairs.append((host, int(port)))
    if not pairs:
        raise ConfigurationError("bootstrap_servers is empty: name at least one host:port")
    return pairs


def forget_secrets(options: ConnectionOptions) -> None:
    """Drop what nobody needs any more once the connection of these options is made."""
    cast(dict[str, Any], options).update(dict.fromkeys(_SECRET))


def tls_options(options: ConnectionOptions) -> TlsOptions | None:
    """What the drivers need to know of TLS; None for PLAINTEXT. Contradictions raise ConfigurationError."""
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


def _unset(name: str, value: Any) -> bool:
    """Whether an option of another client's is given as what all of them take for "not set"."""
    return value is None and is_foreign(name)


def _advice(name: str, table: Mapping[str, Any], *, dotted: bool = False) -> str:
    """Advice for an option that `table` does not have: from the tables of foreign options, else the nearest name."""
    if "." in name:
        return ": keywords have underscores for dots; from_properties() takes names with dots"
    if is_foreign(name):
        return f": {advice(name, dotted=dotted)}"
    for kind in (ProducerOptions, ConsumerOptions):
        if name in declared(kind):
            return f": it is an option of {kind.__name__.removesuffix('Options')}"
    near = difflib.get_close_matches(name, table, n=1, cutoff=0.5)
    if not near:
        return ""
    return f": did you mean {near[0].replace('_', '.') if dotted else near[0]!r}?"


def _kinds(hint: Any) -> tuple[Any, ...]:
    """The alternatives of a type: `int | None` -> (int, NoneType)."""
    return get_args(hint) if type(hint).__name__ in ("UnionType", "_UnionGenericAlias", "Union") else (hint,)


def _meant(value: Any, option: Option) -> Any:
    """Our value for what other clients call by another name; names count in capitals too."""
    if isinstance(value, bool) or not isinstance(value, (str, int, float, type(None))):
        return value
    spelled = value.lower() if isinstance(value, str) else value
    ours: Mapping[Any, Any] = {choice.lower(): choice for choice in option.choices or () if isinstance(choice, str)}
    return option.same[spelled] if spelled in option.same else ours.get(spelled, value)


def _checked(name: str, value: Any, hint: Any, option: Option) -> Any:
    """The value, if it is one for the option."""
    shown = "the value given" if option.secret else repr(value)
    if option.choices is not None:
        _check_choice(name, value, option)
    elif not _fits(value, _kinds(hint)):
        raise ConfigurationError(f"{name}: {shown} is not {_expected(_kinds(hint))}")
    elif option.minimum is not None and value is not None and value < option.minimum:
        raise ConfigurationError(f"{name}: {value} is less than {option.minimum}")
    return value


def _check_choice(name: str, value: Any, option: Option) -> None:
    choices = option.choices or ()
    if not any(value == choice and isinstance(value, bool) == isinstance(choice, bool) for choice in choices):
        if len(choices) == 1:
            raise ConfigurationError(f"{name}: {option.hint}, so it can only be {choices[0]!r}, not {value!r}")
        hint = f": {option.hint}" if option.hint else ""
        raise ConfigurationError(f"{name}: {value!r} is not one of {', '.join(map(repr, choices))}{hint}")


def _fits(value: Any, kinds: tuple[Any, ...]) -> bool:
    """Whether a value is of one of these types; of those that are no plain ones, only functions can be told here."""
    if any(kind in kinds and isinstance(value, kind) and not (kind is int and isinstance(value, bool)) for kind in _PLAIN):
        return True
    if all(kind in _PLAIN for kind in kinds):
        return False
    return callable(value) or value is None or not any("Callable" in str(kind) for kind in kinds)


def _expected(kinds: tuple[Any, ...]) -> str:
    if any(kind not in _PLAIN for kind in kinds):
        return "callable"
    return " or ".join(kind.__name__.replace("NoneType", "None") for kind in kinds)


_PLAIN = (bool, int, str, type(None))


def _parse(key: str, text: str, hint: Any) -> Any:
    kinds = _kinds(hint)
    if bool in kinds and text.strip().lower() in ("true", "false"):
        return text.strip().lower() == "true"
    if int in kinds or get_origin(hint) is Literal:
        try:
            return int(text)
        except ValueError:
            if get_origin(hint) is Literal or str in kinds:
                return text
            raise ConfigurationError(f"{key}: {text!r} is not a whole number") from None
    return text
