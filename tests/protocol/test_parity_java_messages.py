"""Kafka's Java client writes the bytes that we write and reads what we read: every message, in every version."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from kafkawire import protocol
from kafkawire.core.cluster.broker_link import THROTTLED_BY_CLIENT
from kafkawire.protocol.schema import Request
from kafkawire.protocol.wire import RECORDS
from tests import requirements
from tests.protocol.java_client import JavaClient
from tests.protocol.kafka_definitions import NEWEST, OLDEST, definition, in_range
from tests.protocol.strategies import CLASSES, messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.protocol.schema import Message, Struct

pytestmark = pytest.mark.real

few_examples = settings(
    max_examples=8 if requirements.CI else 2,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example],
)


Clients = dict[str, JavaClient]


@pytest.fixture(scope="module")
def clients() -> Iterator[Clients]:
    """Java clients of the newest release, and of the release before 4.0 removed old versions."""
    with JavaClient(NEWEST) as newest, JavaClient(OLDEST) as oldest:
        yield {NEWEST: newest, OLDEST: oldest}


def release_with(cls: type[Message], version: int) -> str:
    """The newest release that has a version of a message."""
    for release in (NEWEST, OLDEST):
        found = definition(cls.__name__, release)
        if found is not None and in_range(version, found["validVersions"]):
            return release
    pytest.fail(f"no release has {cls.__name__} v{version}")


def kafka_json(struct: Struct, version: int) -> dict[str, Any]:
    """A message in Kafka's JSON form: the fields that the version has, and of its tagged structs those that are sent."""
    found = protocol.to_dict(struct)
    for field in type(struct).fields:
        value = getattr(struct, field.name)
        if version not in field.versions or (value is None and field.optional_tag):
            del found[field.json_name]
        elif isinstance(field.element, type) and value is not None:
            found[field.json_name] = [kafka_json(v, version) for v in value] if field.array else kafka_json(value, version)
    return found


def json_text(message: Message, version: int) -> str:
    try:
        return json.dumps(kafka_json(message, version), allow_nan=False)
    except ValueError:
        reject()  # JSON has no infinity


def without_records(struct: Struct) -> Any:
    """The message as Java shows it in JSON, where records are empty."""
    for field in type(struct).fields:
        value = getattr(struct, field.name)
        if value is not None and field.element is RECORDS:
            setattr(struct, field.name, b"")
        elif value is not None and isinstance(field.element, type):
            for part in value if field.array else [value]:
                without_records(part)
    return struct


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
@few_examples
@given(data=st.data())
def test_java_writes_and_reads_the_same(clients: Clients, cls: type[Message], data: st.DataObject) -> None:
    for version in cls.versions:
        java = clients[release_with(cls, version)]
        message = data.draw(messages(cls, version, unknown_tags=False))
        body = protocol.encode(message, version)
        assert java.encode_json(cls, version, json_text(message, version)) == body
        shown = protocol.from_dict(cls, json.loads(java.decode_to_json(cls, version, body)))
        assert shown == without_records(message)


@pytest.mark.parametrize("cls", [cls for cls in CLASSES if cls.flexible is not None], ids=lambda cls: cls.__name__)
@few_examples
@given(data=st.data())
def test_java_keeps_tagged_fields_that_it_does_not_know(clients: Clients, cls: type[Message], data: st.DataObject) -> None:
    for version in cls.versions:
        if cls.flexible is not None and version >= cls.flexible:
            body = protocol.encode(data.draw(messages(cls, version)), version)
            assert clients[release_with(cls, version)].encode_again(cls, version, body) == body


def test_trap_112_which_versions_the_client_throttles():
    """As of the last release whose client has an answer for versions that it no longer speaks."""
    release = "4.3.1"
    apis = [cls.key for cls in CLASSES if issubclass(cls, Request) and definition(cls.__name__, release)]
    with JavaClient(release) as client:
        java = {key: client.throttled_by_client(key) for key in apis}
    assert {key: versions.start for key, versions in java.items() if versions.start > 0} == THROTTLED_BY_CLIENT
