"""Every declared format with its versions, for the tests of `kafkawire.protocol.formats`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire import protocol
from kafkawire.protocol.formats import FAMILIES

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Message

__all__ = ["COORDINATORS", "FORMATS", "every_version", "family", "versions_of"]

FORMATS: list[type[Message]] = [protocol.data(name) for names in FAMILIES.values() for name in names]
COORDINATORS = {
    **dict.fromkeys(["classic_group", "consumer_group", "share_group", "streams_group"], "kafka-group-coordinator"),
    "transaction_state": "kafka-transaction-coordinator",
}
"""Family of records -> the jar of Kafka that defines it. The other families are in kafka-clients."""


def versions_of(classes: list[type[Message]]) -> pytest.MarkDecorator:
    """The test takes each class (`cls`) in each of its versions (`version`)."""
    pairs = [(cls, version) for cls in classes for version in cls.versions]
    return pytest.mark.parametrize(("cls", "version"), pairs, ids=lambda value: getattr(value, "__name__", value))


every_version = versions_of(FORMATS)


def family(cls: type[Message]) -> str:
    return cls.__module__.rpartition(".")[2]
