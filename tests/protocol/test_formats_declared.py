"""Every format that is no request or response says what Kafka's own definitions say, field by field and version by version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.protocol.formats import COORDINATORS, FORMATS, family, versions_of
from tests.protocol.kafka_definitions import NEWEST, definition, in_range, names
from tests.protocol.test_messages_declared import common_structs, kafka_fields, kafka_ignorable, our_fields, our_ignorable

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Message

# Those of the sticky assignors are a Schema in Kafka's code; tests/protocol/test_parity_java_formats.py has Java write them.
DEFINED = [cls for cls in FORMATS if family(cls) != "sticky"]

every_format = pytest.mark.parametrize("cls", DEFINED, ids=lambda cls: cls.__name__)


def kafka(cls: type[Message]) -> dict[str, Any]:
    found = definition(cls.__name__, NEWEST, COORDINATORS.get(family(cls), "kafka-clients"))
    assert found is not None
    return found


@versions_of(DEFINED)
def test_fields_are_kafkas(cls: type[Message], version: int) -> None:
    found = kafka(cls)
    assert our_fields(cls, version) == kafka_fields(found["fields"], common_structs(found), version)


@every_format
def test_versions_and_kinds_are_kafkas(cls: type[Message]) -> None:
    found = kafka(cls)
    assert [v for v in range(50) if in_range(v, found["validVersions"])] == list(cls.versions)
    assert [v for v in cls.versions if in_range(v, found["flexibleVersions"])] == [
        v for v in cls.versions if cls.flexible is not None and v >= cls.flexible
    ]
    assert cls.key == found.get("apiKey", -1)


@every_format
def test_fields_that_may_be_dropped_are_kafkas(cls: type[Message]) -> None:
    found = kafka(cls)
    assert our_ignorable(cls) == kafka_ignorable(found["fields"], common_structs(found))


@pytest.mark.parametrize("artifact", ["kafka-clients", *sorted(set(COORDINATORS.values()))])
def test_all_that_kafka_defines_is_declared(artifact: str) -> None:
    ours = {cls.__name__ for cls in DEFINED if COORDINATORS.get(family(cls), "kafka-clients") == artifact}
    # Headers have code of their own, since the client id in them is never compact: trap 1.
    theirs = {name for name in names(NEWEST, artifact) if not name.endswith(("Request", "Response", "Header", "README"))}
    assert ours == theirs
