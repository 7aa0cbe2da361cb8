"""Requests and responses: any API, any version."""

from __future__ import annotations

import json
from struct import Struct as Packer

from kafkawire import protocol
from kafkawire.errors import DecodeError
from kafkawire.protocol.schema import Message, Request
from tests.fuzz.runner import Target
from tests.protocol.message_samples import full_message, is_flexible
from tests.protocol.strategies import CLASS_VERSIONS

__all__ = ["TARGETS", "check_message"]

KIND = Packer(">h?b")
"""Beginning of an input: API key, 1 for a request, version."""


def message_seeds() -> list[bytes]:
    return [
        KIND.pack(cls.key, issubclass(cls, Request), version) + body
        for cls, version in CLASS_VERSIONS
        for body in (protocol.encode(cls(), version), protocol.encode(full_message(cls, version), version))
        if len(body) < 2000
    ]


def check_messages(data: bytes) -> bool:
    """Any bytes decode to a message or are a DecodeError that names one of them; for the message see `check_message`.

    Before the flexible versions there is one way only to write a message, but for booleans, of which Java reads any as true.
    """
    api_key, is_request, version = KIND.unpack_from(data)
    cls = protocol.request(api_key) if is_request else protocol.response(api_key)
    try:
        message = protocol.decode(cls, version, data, KIND.size)
    except DecodeError as error:
        refused = error
    else:
        check_message(message, version)
        if not is_flexible(cls, version):
            body = protocol.encode(message, version)
            assert all(ours in (1, theirs) for ours, theirs in zip(body, data[KIND.size :], strict=True))
        return True
    assert refused.offset is not None
    assert KIND.size <= refused.offset <= len(data)
    return False


def check_message(message: Message, version: int) -> None:
    """Encoded, decoded and encoded once more it is the same bytes, and so it is by way of JSON."""
    body = protocol.encode(message, version)
    assert protocol.encode(protocol.decode(type(message), version, body), version) == body
    shown = json.loads(json.dumps(protocol.to_dict(message)))
    assert protocol.encode(protocol.from_dict(type(message), shown), version) == body


TARGETS = (Target("messages", message_seeds, check_messages, keep=KIND.size),)
