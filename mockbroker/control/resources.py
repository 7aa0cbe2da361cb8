"""What the control port serves: one table, each resource a function whose docstring tells users what it does and takes."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from mockbroker import data
from mockbroker.arguments import bare_type, hints, short_repr
from mockbroker.configs.values import ConfigText, as_text
from mockbroker.control.views import show_broker, show_group, show_topic
from mockbroker.json_values import checked_field, checked_value
from mockbroker.observe.fault import Fault
from mockbroker.observe.fault_kinds import Barrier
from mockbroker.observe.selection import Selection

if TYPE_CHECKING:
    from mockbroker.mock import MockBroker, MockCluster

__all__ = ["RESOURCES", "Ask", "Lines", "Refused", "Resource"]


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class Ask(NamedTuple):
    """One request, as the functions below are given it."""

    kafka: MockCluster
    names: tuple[str, ...]
    """What stands in the path for each {name}."""
    query: Mapping[str, str]
    body: Any
    """The JSON of the body, or its text where the resource takes JSON lines; None without one."""

    @property
    def fields(self) -> Mapping[str, Any]:
        """The body, which has to be an object; empty if there is none."""
        return {} if self.body is None else checked_value("the body", self.body, dict)

    def whole(self, name: str, default: int) -> int:
        """A whole number of the query."""
        found: int = self._number(name, int, default)
        return found

    def seconds(self, name: str, default: float) -> float:
        """A time of the query."""
        found: float = self._number(name, float, default)
        return found

    def _number(self, name: str, kind: type[Any], default: float) -> Any:
        try:
            return checked_value(name, kind(self.query.get(name, default)), kind)
        except ValueError:
            raise ValueError(f"{name!r} is {short_repr(self.query[name])}; it has to be a number") from None


class Lines(str):
    """An answer of JSON lines."""

    __slots__ = ()


class Resource(NamedTuple):
    """One line of the table."""

    method: str
    path: str
    """{name} stands for any one part, {this|that} for one of these."""
    pattern: re.Pattern[str]
    act: Callable[[Ask], Any]
    """Returns JSON values, `Lines`, or None. Raises ValueError, BrokerError, AssertionError, Refused."""
    lines: bool
    """Whether the body is JSON lines."""


RESOURCES: list[Resource] = []


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{([^}]*)\}", path)  # by turns text and what is in braces
    kinds = [f"({part if '|' in part else '[^/]+'})" if at % 2 else re.escape(part) for at, part in enumerate(parts)]
    return re.compile("".join(kinds))


def _serves(method: str, path: str, *, lines: bool = False) -> Callable[[Callable[[Ask], Any]], Callable[[Ask], Any]]:
    """Put a function into the table; its docstring tells users what it does and takes."""

    def keep(act: Callable[[Ask], Any]) -> Callable[[Ask], Any]:
        RESOURCES.append(Resource(method, path, _pattern(path), act, lines))
        return act

    return keep


@_serves("GET", "/")
def _overview(ask: Ask) -> Any:
    """What to connect to, and this table."""
    table = {f"{one.method} {one.path}": " ".join((one.act.__doc__ or "").split()) for one in RESOURCES}
    version = ".".join(map(str, ask.kafka.cluster.profile.version))
    return {"bootstrap.servers": ask.kafka.bootstrap, "version": version, "resources": table}


@_serves("GET", "/brokers")
def _brokers(ask: Ask) -> Any:
    """All brokers."""
    return [show_broker(broker) for broker in ask.kafka.brokers.values()]


@_serves("POST", "/brokers")
def _add_broker(ask: Ask) -> Any:
    """Let one more broker join, with the next id. It leads nothing until it is told to."""
    return show_broker(ask.kafka.add_broker())


@_serves("DELETE", "/brokers/{id}")
def _remove_broker(ask: Ask) -> Any:
    """Let a broker leave for good; others take its place."""
    ask.kafka.remove_broker(_find_broker(ask).id)


@_serves("POST", "/brokers/{id}/{stop|start|restart}")
def _broker_do(ask: Ask) -> Any:
    """Stop a broker (its connections are cut, its partitions move), start it on the same port, or both."""
    broker = _find_broker(ask)
    {"stop": broker.stop, "start": broker.start, "restart": broker.restart}[ask.names[1]]()
    return show_broker(broker)


@_serves("POST", "/brokers/{id}/advertise")
def _advertise(ask: Ask) -> Any:
    """Have clients told of another address, such as that of a proxy: {"host": "proxy", "port": 9092}."""
    broker = _find_broker(ask)
    broker.advertise(checked_field(ask.fields, "host", str), checked_field(ask.fields, "port", int))
    return show_broker(broker)


@_serves("GET", "/topics")
def _topics(ask: Ask) -> Any:
    """All topics."""
    return ask.kafka.call(lambda: [show_topic(topic) for topic in ask.kafka.cluster.topics.values()])


@_serves("POST", "/topics")
def _create_topic(ask: Ask) -> Any:
    """Create a topic: {"name": "t", "partitions": 1, "replicationFactor": -1, "configs": {"max.message.bytes": "1000"}}."""
    name, partitions = checked_field(ask.fields, "name", str), checked_field(ask.fields, "partitions", int, 1)
    replicas, configs = checked_field(ask.fields, "replicationFactor", int, -1), checked_field(ask.fields, "configs", dict, {})
    given = {key: as_text(_config_value(key, value)) for key, value in configs.items()}
    ask.kafka.call(lambda: ask.kafka.cluster.create_topic(name, partitions, replicas, configs=given))
    return _topic(ask._replace(names=(name,)))


@_serves("GET", "/topics/{topic}")
def _topic(ask: Ask) -> Any:
    """One topic, with the leader, replicas and end offset of each partition."""
    return ask.kafka.call(lambda: show_topic(ask.kafka.cluster.topic(ask.names[0])))


@_serves("DELETE", "/topics/{topic}")
def _delete_topic(ask: Ask) -> Any:
    """Delete a topic with its records."""
    ask.kafka.delete_topic(ask.names[0])


@_serves("POST", "/topics/{topic}/leader")
def _move_leader(ask: Ask) -> Any:
    """Move a partition to another leader, or to none: {"partition": 0, "broker": 2}, {"partition": 0, "broker": null}."""
    ask.kafka.move_leader(
        ask.names[0], checked_field(ask.fields, "partition", int), checked_field(ask.fields, "broker", int, None)
    )
    return _topic(ask)


@_serves("POST", "/topics/{topic}/replicas")
def _set_replicas(ask: Ask) -> Any:
    """Give a partition other replicas, the preferred one first: {"partition": 0, "brokers": [2, 3]}."""
    brokers = [checked_value("brokers", broker, int) for broker in checked_field(ask.fields, "brokers", list)]
    ask.kafka.set_replicas(ask.names[0], checked_field(ask.fields, "partition", int), brokers)
    return _topic(ask)


@_serves("GET", "/topics/{topic}/messages")
def _messages(ask: Ask) -> Any:
    """The records of a topic, or of ?partition=0. Keys and values are text, or {"base64": "..."} where they are no UTF-8."""
    partition = ask.whole("partition", 0) if "partition" in ask.query else None
    return [data.to_plain(message) for message in ask.kafka.messages(ask.names[0], partition)]


@_serves("POST", "/topics/{topic}/messages")
def _append(ask: Ask) -> Any:
    """Append a record or a list: {"value": "v"[, "key": "k", "partition": 0, "timestamp": 0, "headers": [["h", "v"]]]}."""
    kafka, bodies = ask.kafka, ask.body if isinstance(ask.body, list) else [ask.body]
    batch = [data.from_plain(body, ask.names[0]) for body in bodies]
    places = kafka.call(lambda: data.append_all(kafka.cluster, batch, kafka.clock.now()))
    return [{"partition": partition, "offset": offset} for partition, offset in places]


@_serves("GET", "/groups")
def _groups(ask: Ask) -> Any:
    """All groups."""
    cluster = ask.kafka.cluster
    return ask.kafka.call(lambda: [show_group(cluster, ask.kafka.groups, group) for group in ask.kafka.groups])


@_serves("GET", "/groups/{group}")
def _group(ask: Ask) -> Any:
    """One group, with its coordinator, its members with their partitions, and the offsets that it has committed."""
    cluster = ask.kafka.cluster
    return ask.kafka.call(lambda: show_group(cluster, ask.kafka.groups, ask.kafka.groups.existing(ask.names[0])))


@_serves("DELETE", "/groups/{group}")
def _delete_group(ask: Ask) -> Any:
    """Delete a group that has no members, with its offsets."""
    ask.kafka.delete_group(ask.names[0])


@_serves("POST", "/groups/{group}/offsets")
def _reset_offsets(ask: Ask) -> Any:
    """Commit for a group that has no members: {"topic": "t", "partition": 0, "offset": 17}, or a list."""
    for body in ask.body if isinstance(ask.body, list) else [ask.fields]:
        one = checked_value("the body", body, dict)
        topic, partition = checked_field(one, "topic", str), checked_field(one, "partition", int, 0)
        ask.kafka.commit(ask.names[0], topic, partition, checked_field(one, "offset", int))
    return _group(ask)


@_serves("POST", "/groups/{group}/coordinator")
def _move_coordinator(ask: Ask) -> Any:
    """Make another broker the coordinator of a group, and of those that are kept in the same partition: {"broker": 2}."""
    ask.kafka.move_coordinator(ask.names[0], checked_field(ask.fields, "broker", int))
    return {"group": ask.names[0], "coordinator": ask.kafka.coordinator(ask.names[0])}


@_serves("GET", "/dump")
def _dump(ask: Ask) -> Any:
    """All topics with their records, as JSON lines."""
    file = io.StringIO()
    ask.kafka.call(lambda: data.dump(ask.kafka.cluster, file))
    return Lines(file.getvalue())


@_serves("POST", "/load", lines=True)
def _load(ask: Ask) -> Any:
    """Create topics and append records from JSON lines, as /dump writes them."""
    kafka, lines = ask.kafka, (ask.body or "").splitlines()
    return {"records": kafka.call(lambda: data.load(kafka.cluster, lines, kafka.clock.now()))}


@_serves("GET", "/faults")
def _faults(ask: Ask) -> Any:
    """All faults, spent ones too, with how often each has fired."""
    return [fault.to_dict() for fault in ask.kafka.faults.all()]


@_serves("POST", "/faults")
def _make_fault(ask: Ask) -> Any:
    """Make a fault: {"action": "fail", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "topic": "t", "times": 2}."""
    return ask.kafka.faults.make(ask.fields).to_dict()


@_serves("DELETE", "/faults")
def _clear_faults(ask: Ask) -> Any:
    """Clear and forget all faults; what they hold goes on."""
    ask.kafka.faults.clear()


@_serves("POST", "/faults/check")
def _check_faults(ask: Ask) -> Any:
    """Status 409 if there is a fault that never fired."""
    ask.kafka.check_faults()


@_serves("GET", "/faults/{id}")
def _fault(ask: Ask) -> Any:
    """One fault. With ?count=1&timeout=10 once it has fired so often; status 409 after so many seconds."""
    fault = _find_fault(ask)
    if "count" in ask.query:
        fault.wait_for(ask.whole("count", 1), timeout=ask.seconds("timeout", 10.0))
    held = [one.to_dict() for one in fault.held] if isinstance(fault, Barrier) else None
    return fault.to_dict() | ({} if held is None else {"held": held})


@_serves("DELETE", "/faults/{id}")
def _clear_fault(ask: Ask) -> Any:
    """Clear a fault: every further request passes, and so does what it holds."""
    fault = _find_fault(ask)
    fault.clear()
    return fault.to_dict()


@_serves("POST", "/faults/{id}/release")
def _release(ask: Ask) -> Any:
    """Let go what a fault with the action "hold" holds: all, and every further one passes; or the oldest: {"count": 1}."""
    fault = _find_fault(ask)
    if not isinstance(fault, Barrier):
        raise Refused(HTTPStatus.BAD_REQUEST, f"fault {fault.id} holds nothing: only the action 'hold' does")
    fault.release(checked_field(ask.fields, "count", int, None))
    return fault.to_dict()


@_serves("GET", "/journal")
def _journal(ask: Ask) -> Any:
    """Requests with their answers, of ?api=Produce&client_id=x, or by version, broker, connection, topic, partition, group.

    With &count=2&timeout=10 once so many have come; status 409 after so many seconds.
    """
    selection, journal = _selection(ask), ask.kafka.journal
    api = ask.query.get("api")
    if "count" not in ask.query:
        found = journal.requests(api, **selection)
    else:
        count, timeout = ask.whole("count", 1), ask.seconds("timeout", 10.0)
        found = journal.wait_for(api, count=count, timeout=timeout, **selection)
    return [exchange.to_dict() for exchange in found]


@_serves("DELETE", "/journal")
def _clear_journal(ask: Ask) -> Any:
    """Forget all requests."""
    ask.kafka.journal.clear()


@_serves("GET", "/clock")
def _clock(ask: Ask) -> Any:
    """The time of the brokers in seconds since the epoch, and whether it is held."""
    return {"time": ask.kafka.clock.time(), "held": ask.kafka.clock.held}


@_serves("POST", "/clock/{hold|release|advance}")
def _clock_do(ask: Ask) -> Any:
    """Let time stand still, let it pass again, or move it on with all that is due: {"seconds": 60}."""
    clock = ask.kafka.clock
    match ask.names[0]:
        case "hold":
            clock.hold()
        case "release":
            clock.release()
        case _:
            clock.advance(checked_field(ask.fields, "seconds", float))
    return _clock(ask)


def _config_value(name: str, value: Any) -> ConfigText:
    if not isinstance(value, str | int | float):
        raise ValueError(f"{name!r} is {short_repr(value)}; it has to be text, a number, true or false")  # noqa: TRY004 - of JSON
    return value


def _find_broker(ask: Ask) -> MockBroker:
    number = ask.names[0]
    broker = ask.kafka.brokers.get(int(number)) if number.isdecimal() else None
    if broker is None:
        raise Refused(HTTPStatus.NOT_FOUND, f"there is no broker {number}, only {list(ask.kafka.brokers)}")
    return broker


def _find_fault(ask: Ask) -> Fault:
    for fault in ask.kafka.faults.all():
        if str(fault.id) == ask.names[0]:
            return fault
    raise Refused(HTTPStatus.NOT_FOUND, f"there is no fault {ask.names[0]}: see GET /faults")


def _selection(ask: Ask) -> Selection:
    selection: Any = {}
    for name, wanted in hints(Selection).items():
        if name in ask.query:
            selection[name] = ask.whole(name, 0) if bare_type(wanted) is int else ask.query[name]
    unknown = ask.query.keys() - hints(Selection).keys() - {"api", "count", "timeout"}
    if unknown:
        raise ValueError(f"nothing is selected by {min(unknown)!r}, only by api, {', '.join(hints(Selection))}")
    kept: Selection = selection
    return kept
