"""Requests that find their broker, and retries until a deadline.

One loop asks, classifies errors by the table in `kafkawire.errors`, refreshes what proved to be out of date, backs off and asks
again. Other retries are those of flows that advance in steps and must not wait (the sender, its producer id, the fetcher), and
the rounds of the metadata updater, which the router itself relies on.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kafkawire.core.cluster.backoff import Backoff
from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.core.cluster.coordinators import Coordinators
from kafkawire.core.cluster.link_slots import CONTROL, LinkRole, LinkSlots
from kafkawire.core.cluster.metadata import Metadata, Topic, check_partitions
from kafkawire.core.cluster.metadata_updater import MetadataUpdater
from kafkawire.core.cluster.targets import AnyBroker, Controller, Coordinator, Leader, OneBroker, Target
from kafkawire.errors import BrokerError, DecodeError, KafkaError, NetworkError, TimedOut, UnknownTopicError, broker_error
from kafkawire.net.base import Net
from kafkawire.protocol.schema import Request

__all__ = ["Router", "value"]

UNKNOWN_FOR_GOOD = 4
"""Attempts, over about a second and a half, after which a topic is taken not to exist: creation is asynchronous (trap 131)."""
UNREADABLE_FOR_GOOD = 5
"""Attempts after which an answer that cannot be decoded is an error: a bad connection garbles some answers, not all."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

Build = Callable[[BrokerLink, Sequence[K]], tuple[Request, int]]
"""Makes the request about some keys for one broker, and chooses its version."""
Read = Callable[[Any, Sequence[K]], Mapping[K, V | KafkaError]]
"""Reads from a response the result of each key, or the error that the broker has for the key."""


@dataclass(frozen=True, slots=True)
class Call(Generic[K, V]):
    """The arguments of one `Router.call_many` that hold for all its requests."""

    build: Build[K]
    read: Read[K, V]
    deadline: float
    role: LinkRole


class Router:
    """Sends requests to the brokers that they are for. Thread-safe, and without state but for the known coordinators."""

    def __init__(self, net: Net, metadata: Metadata, updater: MetadataUpdater, links: LinkSlots, backoff: Backoff) -> None:
        self._net = net
        self._metadata = metadata
        self._updater = updater
        self._links = links
        self._backoff = backoff
        self._coordinators = Coordinators()

    # ---- one request

    async def ask(self, request: Request, to: Target, deadline: float) -> Any:
        """Send a request once and return its response, whatever error codes it contains.

        Raises NetworkError, TimedOut, DecodeError, UnsupportedVersionError, EncodeError, or a BrokerError of a coordinator
        look-up.
        """
        node = (await self._locate({to}, deadline))[to]
        if isinstance(node, KafkaError):
            raise node
        link = await self._links.link(node, CONTROL, deadline)
        return await link.call(request, deadline)

    async def call(
        self,
        request: Request,
        to: Target,
        deadline: float,
        *,
        read: Callable[[Any], Any] | None = None,
        role: LinkRole = CONTROL,
    ) -> Any:
        """Send a request until it succeeds, fails for good, or the deadline has come; returns its result.

        `read` turns the response into the result, and returns or raises the error of a refusal. Without it the result is the
        response, and a refusal an error code at its top level.

        Raises the first error that is not retriable. At the deadline raises the last error, or the one before it if the
        deadline cut the last attempt off, which says no cause.
        """

        def build(link: BrokerLink, _keys: Sequence[Target]) -> tuple[Request, int]:
            return request, link.version(type(request))

        def read_one(response: Any, _keys: Sequence[Target]) -> dict[Target, Any]:
            return {to: _checked(response, to) if read is None else read(response)}

        return value((await self.call_many({to: to}, build, read_one, deadline, role=role))[to])

    # ---- many requests

    async def call_many(
        self,
        targets: Mapping[K, Target],
        build: Build[K],
        read: Read[K, V],
        deadline: float,
        *,
        role: LinkRole = CONTROL,
    ) -> dict[K, V | KafkaError]:
        """Send one request to each broker that some of the keys are for, and merge the answers.

        Errors that `read` returns belong to their keys: those that are retriable are asked again, alone, until the deadline,
        and others are the result of the key. Errors that are raised, by `read` too, belong to the request: they end the call
        unless they are retriable. A key that is not answered by the deadline has the error that `call` would raise.
        """
        call = Call(build, read, deadline, role)
        await self._know_topics(targets.values(), deadline)
        results: dict[K, V | KafkaError] = {}
        failures: dict[K, KafkaError] = {}
        waiting = dict(targets)
        refresh = False
        attempts = 0
        while waiting:
            answers = await self._ask_all(call, waiting, refresh=refresh)
            attempts += 1
            refresh = False
            for key, answer in answers.items():
                if isinstance(answer, KafkaError) and _may_pass(answer, attempts):
                    failures[key] = self._cause(answer, failures.get(key), deadline)
                    refresh = self._react(answer, targets[key]) or refresh
                else:
                    results[key] = answer
                    del waiting[key]
            if waiting and not await self._back_off(attempts, deadline):
                break
        return {key: failures[key] if key in waiting else results[key] for key in targets}

    async def _ask_all(self, call: Call[K, V], targets: Mapping[K, Target], *, refresh: bool) -> dict[K, V | KafkaError]:
        """Make one attempt for each of the keys, after a refresh of the metadata if it is needed."""
        try:
            if refresh:
                await self._updater.refresh(call.deadline)
            nodes = await self._locate(set(targets.values()), call.deadline)
        except KafkaError as error:
            return _of_all(targets, error)
        answers: dict[K, V | KafkaError] = {}
        by_node: dict[int, list[K]] = defaultdict(list)
        for key, target in targets.items():
            node = nodes[target]
            if isinstance(node, KafkaError):
                answers[key] = node
            else:
                by_node[node].append(key)
        for node, keys in by_node.items():
            of_node = await self._ask_node(call, node, keys)
            answers.update(of_node)
        return answers

    async def _ask_node(self, call: Call[K, V], node: int, keys: Sequence[K]) -> dict[K, V | KafkaError]:
        try:
            link = await self._links.link(node, call.role, call.deadline)
            request, version = call.build(link, keys)
            try:
                response = await link.call(request, call.deadline, version)
            except DecodeError as error:
                raise error.within(f"the answer of {link.address} about {_named(keys)}") from None
            answers = call.read(response, keys)
        except KafkaError as error:
            return _of_all(keys, error)
        silence = NetworkError(f"the answer of {link.address} to {type(request).name} leaves out what it was asked for")
        return {key: answers.get(key, silence) for key in keys}

    # ---- reactions to errors

    def _react(self, error: KafkaError, target: Target) -> bool:
        """Forget the coordinator if the error says that it is none any more; returns True if newer metadata may help."""
        known = error.error if isinstance(error, BrokerError) else None  # without a code, anything may be out of date
        if isinstance(target, Coordinator) and (known is None or known.refresh_coordinator):
            self._coordinators.forget(target)
        return known is None or known.refresh_metadata

    def _cause(self, error: KafkaError, earlier: KafkaError | None, deadline: float) -> KafkaError:
        """The error to report after an attempt: the earlier one if the deadline cut the attempt off, which says no cause."""
        cut_off = isinstance(error, TimedOut) and self._net.now() >= deadline
        return earlier if cut_off and earlier is not None else error

    async def _back_off(self, attempts: int, deadline: float) -> bool:
        """Pause after a number of attempts; False if the deadline has come."""
        await self._net.wait(self._net.signal(), min(deadline, self._net.now() + self._backoff.delay(attempts)))
        return self._net.now() < deadline

    # ---- where targets are

    async def _locate(self, targets: Collection[Target], deadline: float) -> dict[Target, int | KafkaError]:
        """The node id of each target, or why it has none at the moment."""
        brokers = self._metadata.snapshot.brokers
        if not brokers or any(isinstance(to, OneBroker) and to.node_id not in brokers for to in targets):
            await self._updater.refresh(deadline)
        unknown = [to for to in targets if isinstance(to, Coordinator) and self._coordinators.node_id(to) is None]
        errors = await self._find_coordinators(unknown, deadline) if unknown else {}
        return {to: errors[to] if to in errors else self._node(to) for to in targets}

    async def _find_coordinators(self, unknown: Sequence[Coordinator], deadline: float) -> Mapping[Any, KafkaError]:
        """Look up coordinators; returns the errors of those that were not found."""
        try:
            link = await self._links.link(self._any_broker(), CONTROL, deadline)
            return await self._coordinators.find(link, unknown, deadline)
        except KafkaError as error:
            return _of_all(unknown, error)

    def _node(self, to: Target) -> int | KafkaError:
        snapshot = self._metadata.snapshot
        match to:
            case OneBroker(node_id):
                return node_id
            case AnyBroker():
                return self._any_broker()
            case Leader(partition):
                leader = snapshot.leader(*partition)
                return NetworkError(f"{to} has no leader at the moment") if leader is None else leader
            case Controller():
                controller = snapshot.controller
                return NetworkError("the cluster has no controller at the moment") if controller is None else controller.node_id
            case Coordinator():
                node = self._coordinators.node_id(to)
                return NetworkError(f"the coordinator of {to} is not known at the moment") if node is None else node

    def _any_broker(self) -> int:
        """A broker to ask what every broker knows: connected ones first, then known ones, then the bootstrap servers."""
        known = list(self._metadata.snapshot.brokers) or list(self._metadata.bootstrap)
        return random.choice([node for node in known if self._links.is_ready(node)] or known)

    # ---- topics

    async def topic(self, name: str, deadline: float, *, create: bool = False) -> Topic:
        """Returns the metadata of a topic, asking for it until the topic exists.

        Raises UnknownTopicError if the cluster does not have the topic, at the deadline or, without `create`, after some
        attempts; another BrokerError if the cluster refuses it for good (authorization, an invalid name); or as
        `MetadataUpdater.refresh`.
        """
        self._links.check_open()
        self._metadata.want(name, create=create)
        attempts = 0
        while (topic := self._metadata.snapshot.topics.get(name)) is None:
            failure = self._metadata.topic_error(name)
            if self._net.now() >= deadline:
                raise failure or self._updater.no_answer()
            try:
                await self._updater.refresh(deadline)
            except KafkaError as error:
                raise self._cause(error, failure, deadline) from None
            if name in self._metadata.snapshot.topics:
                continue
            failure = self._metadata.topic_error(name)
            if failure is not None and not failure.retriable:
                raise failure
            if isinstance(failure, UnknownTopicError) and not create and attempts >= UNKNOWN_FOR_GOOD:
                raise failure
            attempts += 1
            await self._back_off(attempts, deadline)
        return topic

    async def _know_topics(self, targets: Iterable[Target], deadline: float) -> None:
        """Wait for the topics of the partitions whose leaders are targets. Raises UnknownTopicError, or as `topic`."""
        partitions = [to.partition for to in targets if isinstance(to, Leader)]
        for name in dict.fromkeys(tp.topic for tp in partitions):
            topic = await self.topic(name, deadline)
            if any(tp.partition not in topic.partitions for tp in partitions if tp.topic == name):
                await self._updater.refresh(deadline)  # partitions may have been added since the last answer
                topic = await self.topic(name, deadline)
            check_partitions(partitions, topic)


def value(result: V | KafkaError) -> V:
    """The result of one key of `Router.call_many`. Raises it if it is an error."""
    if isinstance(result, KafkaError):
        raise result
    return result


def _checked(response: Any, to: Target) -> Any:
    """The response, or the error that its top level has."""
    error_code = getattr(response, "error_code", 0)
    return broker_error(error_code, f"{type(response).name} of {to}") if error_code else response


def _may_pass(error: KafkaError, attempts: int) -> bool:
    """True if another attempt may succeed."""
    return error.retriable and not (isinstance(error, DecodeError) and attempts >= UNREADABLE_FOR_GOOD)


def _of_all(keys: Iterable[K], error: KafkaError) -> dict[K, Any]:
    """A retriable error as the answer to each of the keys. Raises another one: it is about the request, not a key."""
    if not error.retriable:
        raise error
    return dict.fromkeys(keys, error)


def _named(keys: Sequence[Any]) -> str:
    return ", ".join(map(str, keys))
