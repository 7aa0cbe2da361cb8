"""Topic ids in requests that name topics by id from a certain version on, and by name before it (KIP-516)."""

from __future__ import annotations

from collections.abc import Mapping

from kafkawire.core.cluster.broker_link import BrokerLink
from kafkawire.protocol.messages.fetch import FetchRequest
from kafkawire.protocol.messages.produce import ProduceRequest
from kafkawire.protocol.schema import Request
from kafkawire.protocol.wire import ZERO_UUID

__all__ = ["LAST_BY_NAME", "answered_topic", "version_for_topics"]

LAST_BY_NAME: Mapping[type[Request], int] = {FetchRequest: 12, ProduceRequest: 12}
"""The last version of each request that names topics; later versions carry their ids."""


def version_for_topics(
    link: BrokerLink, request: type[Request], topic_ids: Mapping[str, bytes]
) -> tuple[int, dict[bytes, str]]:
    """The version in which a request can name these topics, and their names by id, empty in a version that carries names.

    One topic whose id is not known, the zero UUID, makes the whole request go by name.
    """
    last = LAST_BY_NAME[request]
    version = link.version(request, last if ZERO_UUID in topic_ids.values() else None)
    return version, {topic_id: name for name, topic_id in topic_ids.items()} if version > last else {}


def answered_topic(names: Mapping[bytes, str], topic_id: bytes, name: str) -> str | None:
    """The topic that an answer is about: by its id if the request went by ids; None for an id that was not asked for."""
    return names.get(topic_id) if names else name
