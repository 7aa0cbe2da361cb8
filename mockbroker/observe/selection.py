"""Selection of requests, for faults and for questions to the journal: one table of selectors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from kafkawire import protocol
from kafkawire.errors import ErrorCode
from kafkawire.protocol.wire import ZERO_UUID
from mockbroker.arguments import Int32, Ordinal, Version

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Struct
    from mockbroker.broker.exchange import Exchange
    from mockbroker.state.topics import Topic

__all__ = ["Api", "Selection", "Subject", "Topics", "api_keys", "selects"]

Api = str | Iterable[str] | None
"""Kafka's name of an API, several names, or None for all APIs."""

Partitions = dict[str, set[int]]
"""Topic -> the indexes of its partitions."""


class Selection(TypedDict, total=False):
    """Properties that a request must have. A property that is left out may be anything."""

    broker: Int32
    """Id of the broker that the request came to."""
    version: Version
    """Version of the API."""
    client_id: str
    """Client id in the request's header."""
    connection: Ordinal
    """Number of the connection; the connections of a cluster are counted from 1."""
    topic: str
    """Topic that the request names, by name or by id."""
    partition: Int32
    """Index of a partition that the request lists: of the topic that is selected, or of any topic."""
    group: str
    """Group that the request names."""


class Topics(Protocol):
    """Topics of a cluster: a request may name a topic by its id, or mean all topics."""

    @property
    def topics(self) -> Mapping[str, Topic]: ...

    def find_topic(self, name: str | None, topic_id: bytes) -> Topic | ErrorCode: ...


class Subject:
    """One request that selectors look at.

    topics: of its cluster. request: the decoded message, if the caller has it; otherwise it is decoded when a selector needs
    it.
    """

    def __init__(self, topics: Topics, exchange: Exchange, request: Any = None) -> None:
        self.exchange = exchange
        self._topics = topics
        self._given = request

    @cached_property
    def request(self) -> Any:
        """The message; None if it is malformed."""
        return self.exchange.readable_request if self._given is None else self._given

    @cached_property
    def partitions(self) -> Partitions:
        """Topics that the request names, with the partitions that it lists of each. A null list of topics means all topics."""
        found: Partitions = {}
        for holder in (self.request, *_structs(getattr(self.request, "groups", ()))):
            topics = _first(holder, _TOPIC_LISTS, ())
            if topics is None:
                found.update((name, set(range(len(topic.partitions)))) for name, topic in self._topics.topics.items())
                continue
            for asked in topics:
                name = asked if isinstance(asked, str) else self._topic_name(asked)
                listed = _first(asked, _PARTITION_LISTS, ()) or ()
                found.setdefault(name, set()).update(_first(partition, _PARTITION_INDEXES, partition) for partition in listed)
        return found

    @cached_property
    def groups(self) -> set[str]:
        """Groups that the request names; for FindCoordinator the transactional ids too."""
        named: set[str] = set()
        for field in _GROUP_FIELDS:
            value = getattr(self.request, field, ())
            values = [value] if isinstance(value, str) else value or ()
            named.update(one if isinstance(one, str) else getattr(one, "group_id", "") for one in values)
        return named

    def _topic_name(self, asked: Struct) -> str:
        name: str = _first(asked, _TOPIC_NAMES, "") or ""
        topic = self._topics.find_topic(name, getattr(asked, "topic_id", ZERO_UUID))
        return name if isinstance(topic, ErrorCode) else topic.name


# Field names that different APIs give to the same thing.
_TOPIC_LISTS = ("topics", "topic_data", "topic_names")
_TOPIC_NAMES = ("name", "topic")
_PARTITION_LISTS = ("partitions", "partition_data", "partition_indexes")
_PARTITION_INDEXES = ("partition", "index", "partition_index")
_GROUP_FIELDS = ("group_id", "groups", "groups_names", "group_ids", "key", "coordinator_keys")


def _lists_partition(subject: Subject, partition: int, selection: Selection) -> bool:
    topics = [selection["topic"]] if "topic" in selection else subject.partitions
    return any(partition in subject.partitions.get(topic, ()) for topic in topics)


_SELECTORS: dict[str, Callable[[Subject, Any, Selection], bool]] = {
    "broker": lambda subject, wanted, _: subject.exchange.broker == wanted,
    "version": lambda subject, wanted, _: subject.exchange.version == wanted,
    "client_id": lambda subject, wanted, _: subject.exchange.client_id == wanted,
    "connection": lambda subject, wanted, _: subject.exchange.client.connection == wanted,
    "topic": lambda subject, wanted, _: wanted in subject.partitions,
    "partition": _lists_partition,
    "group": lambda subject, wanted, _: wanted in subject.groups,
}
"""Selectors by property, cheap ones first: the last three decode the request."""


def selects(selection: Selection, subject: Subject) -> bool:
    """Return True if the request has all properties of the selection."""
    wanted: Mapping[str, object] = selection
    return all(meets(subject, wanted[name], selection) for name, meets in _SELECTORS.items() if name in wanted)


def api_keys(api: Api) -> frozenset[int]:
    """Return the keys of APIs by Kafka's names; none for None, which means all. Raises ValueError for an unknown name."""
    keys: set[int] = set()
    for name in _names(api):
        try:
            keys.add(protocol.request(name).key)
        except KeyError:
            raise ValueError(
                f"there is no API {name!r}; they have Kafka's names, such as 'Fetch' or 'InitProducerId'"
            ) from None
    return frozenset(keys)


def _names(api: object) -> list[str]:
    """Return the names in one name, several names or None. Raises TypeError for anything else."""
    if api is None or isinstance(api, str):
        return [] if api is None else [api]
    names: list[Any] = list(api) if isinstance(api, Iterable) else [api]
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"an API is meant by its name, such as 'Fetch', not by {name!r}")
    return names


def _structs(values: Any) -> list[Any]:
    return [value for value in values or () if not isinstance(value, str)]


def _first(holder: object, names: tuple[str, ...], default: Any) -> Any:
    """Return the first of these fields that is not empty; if all are, the first that the object has; else the default."""
    values = [getattr(holder, name) for name in names if hasattr(holder, name)]
    return next((value for value in values if value), values[0] if values else default)
