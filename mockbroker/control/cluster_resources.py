"""Resources of the control port that show and change the cluster: brokers, topics, records and groups."""

from __future__ import annotations

import io
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from mockbroker import data
from mockbroker.arguments import short_repr
from mockbroker.configs.values import ConfigText, as_text
from mockbroker.control.resource import ControlRequest, JsonLines, RefusedError, ResourceTable
from mockbroker.control.views import view_broker, view_group, view_topic
from mockbroker.json_values import checked_field, checked_value

if TYPE_CHECKING:
    from mockbroker.mock import MockBroker

__all__ = ["TABLE"]

TABLE = ResourceTable()


@TABLE.serves("GET", "/brokers")
def _brokers(request: ControlRequest) -> Any:
    """List all brokers."""
    return [view_broker(broker) for broker in request.kafka.brokers.values()]


@TABLE.serves("POST", "/brokers")
def _add_broker(request: ControlRequest) -> Any:
    """Add a broker, with the next id. It leads no partition until one is moved to it."""
    return view_broker(request.kafka.add_broker())


@TABLE.serves("DELETE", "/brokers/{id}")
def _remove_broker(request: ControlRequest) -> Any:
    """Remove a broker for good; others take its place as leader and replica."""
    request.kafka.remove_broker(_find_broker(request).id)


@TABLE.serves("POST", "/brokers/{id}/{stop|start|restart}")
def _broker_do(request: ControlRequest) -> Any:
    """Stop a broker (its connections are cut, its partitions move), start it on the same port, or both."""
    broker = _find_broker(request)
    {"stop": broker.stop, "start": broker.start, "restart": broker.restart}[request.path_parts[1]]()
    return view_broker(broker)


@TABLE.serves("POST", "/brokers/{id}/advertise")
def _advertise(request: ControlRequest) -> Any:
    """Advertise another address of a broker, such as that of a proxy: {"host": "proxy", "port": 9092}."""
    broker = _find_broker(request)
    broker.advertise(checked_field(request.fields, "host", str), checked_field(request.fields, "port", int))
    return view_broker(broker)


@TABLE.serves("GET", "/topics")
def _topics(request: ControlRequest) -> Any:
    """List all topics."""
    return request.kafka.call(lambda: [view_topic(topic) for topic in request.kafka.cluster.topics.values()])


@TABLE.serves("POST", "/topics")
def _create_topic(request: ControlRequest) -> Any:
    """Create a topic: {"name": "t", "partitions": 1, "replicationFactor": -1, "configs": {"max.message.bytes": "1000"}}."""
    fields = request.fields
    name, partitions = checked_field(fields, "name", str), checked_field(fields, "partitions", int, 1)
    replicas, configs = checked_field(fields, "replicationFactor", int, -1), checked_field(fields, "configs", dict, {})
    given = {key: as_text(_config_value(key, value)) for key, value in configs.items()}
    request.kafka.call(lambda: request.kafka.cluster.create_topic(name, partitions, replicas, configs=given))
    return _topic(request._replace(path_parts=(name,)))


@TABLE.serves("GET", "/topics/{topic}")
def _topic(request: ControlRequest) -> Any:
    """Show a topic, with the leader, replicas and end offset of each partition."""
    return request.kafka.call(lambda: view_topic(request.kafka.cluster.topic(request.path_parts[0])))


@TABLE.serves("DELETE", "/topics/{topic}")
def _delete_topic(request: ControlRequest) -> Any:
    """Delete a topic with its records."""
    request.kafka.delete_topic(request.path_parts[0])


@TABLE.serves("POST", "/topics/{topic}/leader")
def _move_leader(request: ControlRequest) -> Any:
    """Move a partition to another leader, or to none: {"partition": 0, "broker": 2}, {"partition": 0, "broker": null}."""
    fields = request.fields
    partition, broker = checked_field(fields, "partition", int), checked_field(fields, "broker", int, None)
    request.kafka.move_leader(request.path_parts[0], partition, broker)
    return _topic(request)


@TABLE.serves("POST", "/topics/{topic}/replicas")
def _set_replicas(request: ControlRequest) -> Any:
    """Give a partition other replicas, the preferred one first: {"partition": 0, "brokers": [2, 3]}."""
    brokers = [checked_value("brokers", broker, int) for broker in checked_field(request.fields, "brokers", list)]
    request.kafka.set_replicas(request.path_parts[0], checked_field(request.fields, "partition", int), brokers)
    return _topic(request)


@TABLE.serves("GET", "/topics/{topic}/messages")
def _messages(request: ControlRequest) -> Any:
    """List the records of a topic, or of ?partition=0. Keys and values are text, or {"base64": "..."} if they are not UTF-8."""
    partition = request.integer("partition", 0) if "partition" in request.query else None
    return [data.to_plain(message) for message in request.kafka.messages(request.path_parts[0], partition)]


@TABLE.serves("POST", "/topics/{topic}/messages")
def _append(request: ControlRequest) -> Any:
    """Append a record or a list: {"value": "v"[, "key": "k", "partition": 0, "timestamp": 0, "headers": [["h", "v"]]]}."""
    kafka, bodies = request.kafka, request.body if isinstance(request.body, list) else [request.body]
    batch = [data.from_plain(body, request.path_parts[0]) for body in bodies]
    places = kafka.call(lambda: data.append_all(kafka.cluster, batch, kafka.clock.now()))
    return [{"partition": partition, "offset": offset} for partition, offset in places]


@TABLE.serves("GET", "/groups")
def _groups(request: ControlRequest) -> Any:
    """List all groups."""
    cluster = request.kafka.cluster
    return request.kafka.call(lambda: [view_group(cluster, request.kafka.groups, group) for group in request.kafka.groups])


@TABLE.serves("GET", "/groups/{group}")
def _group(request: ControlRequest) -> Any:
    """Show a group, with its coordinator, its members with their partitions, and its committed offsets."""
    kafka = request.kafka
    return kafka.call(lambda: view_group(kafka.cluster, kafka.groups, kafka.groups.existing(request.path_parts[0])))


@TABLE.serves("DELETE", "/groups/{group}")
def _delete_group(request: ControlRequest) -> Any:
    """Delete a group that has no members, with its offsets."""
    request.kafka.delete_group(request.path_parts[0])


@TABLE.serves("POST", "/groups/{group}/offsets")
def _reset_offsets(request: ControlRequest) -> Any:
    """Commit an offset for a group that has no members: {"topic": "t", "partition": 0, "offset": 17}, or a list."""
    for body in request.body if isinstance(request.body, list) else [request.fields]:
        one = checked_value("the body", body, dict)
        topic, partition = checked_field(one, "topic", str), checked_field(one, "partition", int, 0)
        request.kafka.commit(request.path_parts[0], topic, partition, checked_field(one, "offset", int))
    return _group(request)


@TABLE.serves("POST", "/groups/{group}/coordinator")
def _move_coordinator(request: ControlRequest) -> Any:
    """Move the coordinator of a group, and of all groups in the same partition of __consumer_offsets: {"broker": 2}."""
    request.kafka.move_coordinator(request.path_parts[0], checked_field(request.fields, "broker", int))
    return {"group": request.path_parts[0], "coordinator": request.kafka.coordinator(request.path_parts[0])}


@TABLE.serves("GET", "/dump")
def _dump(request: ControlRequest) -> Any:
    """Write all topics with their records as JSON lines."""
    file = io.StringIO()
    request.kafka.call(lambda: data.dump(request.kafka.cluster, file))
    return JsonLines(file.getvalue())


@TABLE.serves("POST", "/load", lines=True)
def _load(request: ControlRequest) -> Any:
    """Create topics and append records from JSON lines, as /dump writes them."""
    kafka, lines = request.kafka, (request.body or "").splitlines()
    return {"records": kafka.call(lambda: data.load(kafka.cluster, lines, kafka.clock.now()))}


def _config_value(name: str, value: Any) -> ConfigText:
    if not isinstance(value, str | int | float):
        raise ValueError(f"{name!r} is {short_repr(value)}; it has to be text, a number, true or false")  # noqa: TRY004 - of JSON
    return value


def _find_broker(request: ControlRequest) -> MockBroker:
    number = request.path_parts[0]
    broker = request.kafka.brokers.get(int(number)) if number.isdecimal() else None
    if broker is None:
        raise RefusedError(HTTPStatus.NOT_FOUND, f"there is no broker {number}, only {list(request.kafka.brokers)}")
    return broker
