"""What tests break on command: rules that say which requests suffer what, and count how often they did.

Pure: the connection asks which rules a request meets and carries them out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from struct import Struct as Packer
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack

from kafkawire import protocol
from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages.fetch import FetchResponse
from kafkawire.protocol.wire import ZERO_UUID
from mockbroker.call import InjectedError

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Request, Response, Struct
    from kafkawire.protocol.wire import Buffer
    from mockbroker.cluster import Cluster

__all__ = [
    "Corrupt",
    "Cut",
    "Delay",
    "Disconnect",
    "Drop",
    "Fail",
    "Fault",
    "Faults",
    "Selection",
    "Throttle",
    "When",
    "damage",
    "throttle",
]

When = Literal["before", "after"]
"""Before the broker handles the request (which then has no effect), or after (it has, but the client does not hear of it)."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Answer with an error code."""

    error: ErrorCode


@dataclass(frozen=True, slots=True)
class Delay:
    """Hold the answer back, and with it whatever is queued behind it on the connection."""

    seconds: float
    when: When


@dataclass(frozen=True, slots=True)
class Drop:
    """Never answer. As the broker serves a connection in order, nothing behind the request is answered either."""

    when: When


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Close the connection instead of answering."""

    when: When


@dataclass(frozen=True, slots=True)
class Cut:
    """Send only so many bytes of the answer, its 4-byte size included, then close the connection."""

    after_bytes: int


@dataclass(frozen=True, slots=True)
class Corrupt:
    """Flip a bit in the first record batch of every partition that the answer brings, so that its checksum is wrong."""


@dataclass(frozen=True, slots=True)
class Throttle:
    """Answer at once, with a throttle time (milliseconds) for the client to keep to (KIP-219)."""

    throttle_time_ms: int


_Partitions = dict[str, set[int]]
Action = Fail | Delay | Drop | Disconnect | Cut | Corrupt | Throttle


class Selection(TypedDict, total=False):
    """Which requests a rule meets; what is left out meets all."""

    topic: str
    partition: int
    broker: int
    client_id: str
    nth: int
    """Only from the nth such request on, counted from 1."""
    times: int
    """Only so often; then the rule is spent."""


class Fault:
    """One rule. It stays until it is spent or cleared."""

    __slots__ = ("_active", "_apis", "_selection", "action", "fired", "seen")

    def __init__(self, action: Action, apis: frozenset[int], selection: Selection) -> None:
        self.action = action
        self.fired = 0
        """How often it struck."""
        self.seen = 0
        """How many requests it could have struck."""
        self._apis = apis
        self._selection = selection
        self._active = True

    def clear(self) -> None:
        """Let every further request pass."""
        self._active = False

    @property
    def active(self) -> bool:
        """Whether it can still strike."""
        return self._active and self.fired < self._selection.get("times", self.fired + 1)

    @property
    def injected(self) -> InjectedError | None:
        """What handlers need to know of a Fail rule."""
        if isinstance(self.action, Fail):
            return InjectedError(self.action.error, self._selection.get("topic"), self._selection.get("partition"))
        return None

    def strikes(self, api_key: int, broker: int, client_id: str, partitions: _Partitions) -> bool:
        """Whether a request meets the rule; counts it."""
        if not self.active or not self._selects(api_key, broker, client_id, partitions):
            return False
        self.seen += 1
        if self.seen < self._selection.get("nth", 1):
            return False
        self.fired += 1
        return True

    def _selects(self, api_key: int, broker: int, client_id: str, partitions: _Partitions) -> bool:
        wanted = self._selection
        if self._apis and api_key not in self._apis:
            return False
        if broker != wanted.get("broker", broker) or client_id != wanted.get("client_id", client_id):
            return False
        if "topic" in wanted and wanted["topic"] not in partitions:
            return False
        if "partition" not in wanted:
            return True
        topics = [wanted["topic"]] if "topic" in wanted else list(partitions)
        return any(wanted["partition"] in partitions[topic] for topic in topics)

    def __repr__(self) -> str:
        apis = [protocol.request(key).name for key in sorted(self._apis)] or "any API"
        return f"<Fault {self.action} on {apis} {dict(self._selection)}: fired {self.fired}>"


class Faults:
    """The rules of a cluster, in the order in which they were made."""

    __slots__ = ("_rules",)

    def __init__(self) -> None:
        self._rules: list[Fault] = []

    def add(self, action: Action, api: str | Iterable[str] | None, selection: Selection) -> Fault:
        """Add a rule for an API, several or (None) all, by Kafka's names."""
        names = [api] if isinstance(api, str) else api or ()
        fault = Fault(action, frozenset(protocol.request(name).key for name in names), selection)
        self._rules = [*(rule for rule in self._rules if rule.active), fault]
        return fault

    def clear(self) -> None:
        """Clear every rule."""
        for rule in self._rules:
            rule.clear()
        self._rules = []

    def striking(self, cluster: Cluster, broker: int, client_id: str, request: Request) -> list[Fault]:
        """The rules that a request meets. Each of them counts it."""
        if not self._rules:
            return []
        partitions = _partitions_of(cluster, request)
        return [rule for rule in self._rules if rule.strikes(type(request).key, broker, client_id, partitions)]

    def fail(self, api: str | Iterable[str] | None, error: ErrorCode, **selection: Unpack[Selection]) -> Fault:
        """Answer with an error, for the selected topics and partitions where the API has room for one each."""
        return self.add(Fail(error), api, selection)

    def delay(
        self, api: str | Iterable[str] | None, seconds: float, *, when: When = "after", **selection: Unpack[Selection]
    ) -> Fault:
        """Hold requests (`when="before"`) or their answers back for a time."""
        return self.add(Delay(seconds, when), api, selection)

    def drop(self, api: str | Iterable[str] | None, *, when: When = "after", **selection: Unpack[Selection]) -> Fault:
        """Never answer, nor anything behind it on the connection."""
        return self.add(Drop(when), api, selection)

    def disconnect(self, api: str | Iterable[str] | None, *, when: When = "before", **selection: Unpack[Selection]) -> Fault:
        """Close the connection instead of answering."""
        return self.add(Disconnect(when), api, selection)

    def cut(self, api: str | Iterable[str] | None, after_bytes: int, **selection: Unpack[Selection]) -> Fault:
        """Break the connection in the middle of the answer."""
        return self.add(Cut(after_bytes), api, selection)

    def corrupt(self, **selection: Unpack[Selection]) -> Fault:
        """Damage the record batches that Fetch brings."""
        return self.add(Corrupt(), "Fetch", selection)

    def throttle(self, api: str | Iterable[str] | None, throttle_time_ms: int, **selection: Unpack[Selection]) -> Fault:
        """Ask the client to wait before its next request."""
        return self.add(Throttle(throttle_time_ms), api, selection)


_TOPIC_LISTS = ("topics", "topic_data", "topic_names")
_TOPIC_NAMES = ("name", "topic")
_PARTITION_LISTS = ("partitions", "partition_data", "partition_indexes")
_PARTITION_INDEXES = ("partition", "index", "partition_index")
_BATCH_LENGTH = Packer(">i")
_BATCH_LENGTH_AT = 8  # in every record format


def _partitions_of(cluster: Cluster, request: Request) -> _Partitions:
    """The topics that a request of any API names, and the partitions that it lists of each. Null topics are all of them."""
    found: _Partitions = {}
    for holder in (request, *getattr(request, "groups", ())):
        topics = _first(holder, _TOPIC_LISTS, ())
        if topics is None:
            found.update((name, set(range(len(topic.partitions)))) for name, topic in cluster.topics.items())
            continue
        for asked in topics:
            name = asked if isinstance(asked, str) else _name_of(cluster, asked)
            indexes = (_first(partition, _PARTITION_INDEXES, partition) for partition in _first(asked, _PARTITION_LISTS, ()))
            found.setdefault(name, set()).update(indexes)
    return found


def _name_of(cluster: Cluster, asked: Struct) -> str:
    topic = cluster.find_topic(_first(asked, _TOPIC_NAMES, ""), getattr(asked, "topic_id", ZERO_UUID))
    return _first(asked, _TOPIC_NAMES, "") or "" if isinstance(topic, ErrorCode) else topic.name


def _first(holder: object, names: tuple[str, ...], default: Any) -> Any:
    """The first of these fields that the object has (and that says something), for APIs name the same things differently."""
    values = [getattr(holder, name) for name in names if hasattr(holder, name)]
    return next((value for value in values if value), values[0] if values else default)


def throttle(response: Response, throttle_time_ms: int) -> None:
    """Put a throttle time into an answer; versions without the field drop it."""
    if hasattr(response, "throttle_time_ms"):
        response.throttle_time_ms = throttle_time_ms


def damage(response: Response) -> None:
    """Flip a bit at the end of the first batch of every partition."""
    if isinstance(response, FetchResponse):
        for topic in response.responses:
            for partition in topic.partitions:
                if partition.records:
                    partition.records = _flipped(partition.records)


def _flipped(records: Buffer) -> bytes:
    data = bytearray(records)
    (length,) = _BATCH_LENGTH.unpack_from(data, _BATCH_LENGTH_AT)
    data[min(_BATCH_LENGTH_AT + 4 + length, len(data)) - 1] ^= 1
    return bytes(data)
