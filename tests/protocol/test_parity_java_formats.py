"""Kafka's own classes write the bytes that we write, and read them: every format that is no request or response."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafkawire import protocol
from kafkawire.protocol.formats.members import decode_sticky_user_data
from tests.protocol.formats import FORMATS, family
from tests.protocol.java_client import JavaClient
from tests.protocol.kafka_definitions import NEWEST
from tests.protocol.strategies import messages
from tests.protocol.test_parity_java_messages import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.protocol.schema import Message

pytestmark = pytest.mark.real

Cooperative: Any = protocol.data("CooperativeStickyAssignorUserData")
Sticky: Any = protocol.data("StickyAssignorUserData")


@pytest.fixture(scope="module")
def java() -> Iterator[JavaClient]:
    with JavaClient(NEWEST) as client:
        yield client


@pytest.mark.parametrize("cls", [cls for cls in FORMATS if family(cls) != "sticky"], ids=lambda cls: cls.__name__)
@settings(max_examples=6, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_java_writes_and_reads_the_same(java: JavaClient, cls: type[Message], data: st.DataObject) -> None:
    for version in cls.versions:
        message = data.draw(messages(cls, version, unknown_tags=False))
        body = protocol.encode(message, version)
        assert java.encode_json(cls, version, json_text(message, version)) == body
        assert protocol.from_dict(cls, json.loads(java.decode_to_json(cls, version, body))) == message


def test_the_sticky_assignors_write_what_we_read(java: JavaClient) -> None:
    sticky = java.sticky_user_data("StickyAssignor", {"t": [0, 2]}, generation=5)
    found = decode_sticky_user_data(sticky)
    assert found == Sticky(previous_assignment=[Sticky.TopicAssignment(topic="t", partitions=[0, 2])], generation=5)
    assert protocol.encode(found, 1) == sticky
    cooperative = java.sticky_user_data("CooperativeStickyAssignor", {"t": [0, 2]}, generation=5)
    assert protocol.decode(Cooperative, 0, cooperative) == Cooperative(generation=5)
    assert protocol.encode(Cooperative(generation=5), 0) == cooperative
