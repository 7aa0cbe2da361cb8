"""Raw requests to a real broker and to the mock broker, with their responses in comparable form."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING, Any

from kafkawire import protocol
from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages import API_KEYS
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from tests.mockbroker.raw import TIMEOUT, RawClient, produce_request, produced

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.protocol.schema import Request
    from kafkawire.protocol.wire import Buffer

__all__ = ["Broker", "Questions", "Scenarios", "assert_same_answers", "differences", "request"]

# Numbers and names that every broker chooses for itself: what counts is where the same one comes again.
_OWN = ("topicId", "sessionId", "clusterId", "logDir")
# And what changes all the time.
_PASSING = ("logAppendTimeMs", "lastTimestamp", "totalBytes", "usableBytes")
_RANGE_OF_TIMES = re.compile(r"\[-?\d+, \d+\]")
_TRIES = 10_000
_SAME_FOR_ALL = {None, 0, -1, "", "AAAAAAAAAAAAAAAAAAAAAA"}
# Kafka lists these in the order of a hash table.
_UNORDERED = {"configs": "name", "topics": "name", "responses": "name", "results": "name", "activeProducers": "producerId"}


def request(api: str, **fields: Any) -> Request:
    """A request under Kafka's own field names, as JSON has them."""
    return protocol.from_dict(protocol.request(api), fields)


def differences(real: Any, mock: Any, where: str = "") -> Iterator[str]:
    """Paths at which two responses differ. For an error code that says it all, the mock has words of its own."""
    if isinstance(real, dict) and isinstance(mock, dict) and real.keys() == mock.keys():
        own_words = "errorMessage" in real and mock["errorMessage"] == ErrorCode.of(mock["errorCode"]).text
        for name in real:
            if not (own_words and name == "errorMessage" and real[name]):
                yield from differences(real[name], mock[name], f"{where}.{name}")
    elif isinstance(real, list) and isinstance(mock, list) and len(real) == len(mock):
        for index, pair in enumerate(zip(real, mock, strict=True)):
            yield from differences(*pair, f"{where}[{index}]")
    elif real != mock:
        yield f"{where.lstrip('.') or 'all'}: {real!r}, but the mock has {mock!r}"


class Broker(RawClient):
    """One broker that questions are put to; `answers` are all that it gave, as plain values."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._host, port = address.rsplit(":", 1)
        self._port = int(port)
        self._socket = socket.create_connection((self._host, self._port), TIMEOUT)
        self._known: dict[tuple[str, Any], str] = {}
        self.answers: list[tuple[str, Any]] = []
        self._settled = 0

    def close(self) -> None:
        self._socket.close()

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def ask(self, message: Request, *versions: int) -> Any:
        """Put the same question in some versions, and note the answers. Returns the last, or None if it was to hang up."""
        found = None
        for version in versions:
            found = self._call(message, version)
            answer = "closes the connection" if found is None else self._plain(protocol.to_dict(found))
            self.answers.append((f"{type(message).name} v{version}", answer))
        return found

    def do(self, message: Request, version: int) -> Any:
        """Put a question whose answer is not compared."""
        return self._call(message, version)

    def newest(self, api: str) -> int:
        """The newest version of an API that the broker speaks."""
        return {one.api_key: int(one.max_version) for one in self.do(request("ApiVersions"), 0).api_keys}[API_KEYS[api]]

    def make_topic(self, name: str, partitions: int = 1, **configs: Any) -> bytes:
        """Create a topic and return its id."""
        topic = CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
        topic.configs = [
            CreateTopicsRequest.CreatableTopic.CreatableTopicConfig(name=key.replace("_", "."), value=str(value))
            for key, value in configs.items()
        ]
        (answer,) = self.do(CreateTopicsRequest(topics=[topic]), 7).topics
        assert answer.error_code == 0, answer
        self.wait_for_leaders(name, partitions)
        topic_id: bytes = answer.topic_id
        return topic_id

    def settle(self) -> None:
        """Wait until the broker has heard of what it was told to change: of a topic made later, it hears later."""
        self._settled += 1
        self.make_topic(f"settled-{id(self)}-{self._settled}")

    def fill(self, topic: str, *batches: Buffer, partition: int = 0) -> None:
        """Append batches of format 2."""
        for data in batches:
            assert produced(self.do(produce_request(data, topic=topic, partition=partition), 9)).error_code == 0

    def wait_for_leaders(self, topic: str, partitions: int, version: int = 6) -> None:
        """A new topic is known before its leaders have taken it over."""
        wanted = [{"partitionIndex": index, "timestamp": -1} for index in range(partitions)]
        asked = request("ListOffsets", replicaId=-1, topics=[{"name": topic, "partitions": wanted}])
        for _ in range(_TRIES):
            (answer,) = self.do(asked, version).topics
            if all(one.error_code == 0 for one in answer.partitions):
                return
        raise AssertionError(f"{topic} has no leaders")

    def _call(self, message: Request, version: int) -> Any:
        pending = self.send(message, version)
        while not pending.done:
            data = self._socket.recv(1 << 16)
            if not data:
                self._socket.close()
                self._socket = socket.create_connection((self._host, self._port), TIMEOUT)
                return None
            self.take(data)
        return pending.result()

    def _plain(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: self._plain(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            inner = [self._plain(one) for one in value]
            key = _UNORDERED.get(name, "")
            ordered = inner and isinstance(inner[0], dict) and key in inner[0]
            return sorted(inner, key=lambda one: str(one[key])) if ordered else inner
        if name in _PASSING and value > 0:
            return "some number"
        if name == "batchIndexErrorMessage" and value is not None:
            return _RANGE_OF_TIMES.sub("[a time, a time]", value)
        if name == "port" and value == self._port:
            return "its port"
        if name in _OWN and value not in _SAME_FOR_ALL:
            return self._known.setdefault((name, value), f"{name} {len(self._known)}")
        return value


Questions = Callable[[Broker, str], None]
"""A conversation with one broker about a topic, or several whose names begin like it."""


class Scenarios:
    """A decorator that collects conversations."""

    def __init__(self) -> None:
        self.all: list[Questions] = []

    def __call__(self, questions: Questions) -> Questions:
        self.all.append(questions)
        return questions


def assert_same_answers(real: str, mock: str, questions: Questions) -> None:
    """Hold the same conversation with two brokers, given by address."""
    expected, answered = _answers(real, questions), _answers(mock, questions)
    assert [what for what, _ in answered] == [what for what, _ in expected]
    found = [
        f"{what}: {difference}"
        for (what, answer), (_, mocked) in zip(expected, answered, strict=True)
        for difference in differences(answer, mocked)
    ]
    assert not found, "\n".join(found)


def _answers(address: str, questions: Questions) -> list[tuple[str, Any]]:
    with closing(Broker(address)) as broker:
        questions(broker, f"parity-{questions.__name__.replace('_', '-')}")
        return broker.answers
