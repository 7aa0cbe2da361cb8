"""Conversations of several clients with one broker, whose answers are recorded as plain values."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from kafkawire import protocol
from kafkawire.errors import ErrorCode
from kafkawire.protocol.messages import API_KEYS
from tests.interop.parity import request
from tests.mockbroker.groups import join, sync
from tests.mockbroker.raw import TcpClient

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack

    from kafkawire.protocol.schema import Request
    from tests.mockbroker.raw import Pending

    Scenario = Callable[["Talk", str], None]

TRIES = 10_000
"""Requests until a state that has to come counts as missing."""

NEW_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The random part of a member id."""

UNORDERED = ("members", "groups", "results", "topics", "partitions")
"""Fields that Kafka lists in the order of a hash table."""


class Talk:
    """A conversation with one broker. Its clients are numbered; `answers` has every recorded answer as plain values."""

    def __init__(self, bootstrap: str, stack: ExitStack) -> None:
        host, port = bootstrap.split(":")
        self._address: Any = SimpleNamespace(host=host, port=int(port))
        self._stack = stack
        self._clients: dict[int, TcpClient] = {}
        self._ids: dict[str, str] = {}
        self.answers: list[tuple[str, Any]] = []

    def ask(self, message: Request, *versions: int, client: int = 0) -> Any:
        """Send a request in each of the versions and record the answers; return the last one."""
        found = None
        for version in versions:
            found = self.answer(self.start(message, version, client=client), client=client)
        return found

    def do(self, message: Request, version: int) -> Any:
        """Send a request whose answer is not recorded."""
        return self._client(0).call(message, version)

    def start(self, message: Request, version: int, client: int = 0) -> Pending:
        """Put a question that may have to wait; the broker has taken it up when it has answered another client's."""
        return self._client(client).send(message, version)

    def answer(self, pending: Pending, client: int = 0) -> Any:
        """Wait for an answer and note it."""
        while not pending.done:
            data = self._client(client).read()
            assert data, "the broker closed the connection"
            self._client(client).take(data)
        found = pending.result()
        self.answers.append((f"{pending.cls.name} v{pending.version}", self.plain(protocol.to_dict(found))))
        return found

    def member(self, group: str, *, client: int = 0, **options: Any) -> str:
        """The id of a new member that has not joined yet."""
        found = self.ask(join(group, **options), 9, client=client)
        assert found.error_code == ErrorCode.MEMBER_ID_REQUIRED
        return str(found.member_id)

    def alone(self, group: str, assignment: bytes = b"mine", **options: Any) -> tuple[str, int]:
        """The id and generation of the only member of a stable group."""
        member = self.member(group, **options)
        joined = self.ask(join(group, member, **options), 9)
        chosen, of_type = joined.protocol_name, joined.protocol_type
        self.ask(sync(group, member, joined.generation_id, {member: assignment}, protocol=chosen, protocol_type=of_type), 5)
        return member, joined.generation_id

    def newest(self, api: str) -> int:
        """The newest version of an API that the broker speaks."""
        return {one.api_key: int(one.max_version) for one in self.do(request("ApiVersions"), 0).api_keys}[API_KEYS[api]]

    def wake(self, group: str) -> None:
        """Wait until there is a coordinator for a group."""
        self.do(request("FindCoordinator", key=group), 3)
        for _ in range(TRIES):
            if self.do(request("DeleteGroups", groupsNames=[group]), 2).results[0].error_code == ErrorCode.GROUP_ID_NOT_FOUND:
                return
        raise AssertionError("there is no coordinator")

    def until(self, group: str, state: str) -> None:
        """Wait for a group to get somewhere."""
        for _ in range(TRIES):
            (found,) = self.do(request("DescribeGroups", groups=[group]), 5).groups
            if found.group_state == state:
                return
        raise AssertionError(f"{group} never became {state}")

    def _client(self, number: int) -> TcpClient:
        if number not in self._clients:
            self._clients[number] = self._stack.enter_context(TcpClient(self._address))
        return self._clients[number]

    def plain(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: self.plain(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            inner = [self.plain(one) for one in value]
            return sorted(inner, key=str) if name in UNORDERED else inner
        if name == "port":
            return "its port" if value == self._address.port else value
        if isinstance(value, str):
            return NEW_ID.sub(lambda found: self._ids.setdefault(found[0], f"#{len(self._ids)}"), value)
        return value


class Scenarios(list["Scenario"]):
    """Functions that each lead a conversation about groups; the second argument begins the names of those groups."""

    def add(self, questions: Scenario) -> Scenario:
        """Decorate a function to be one of the scenarios."""
        self.append(questions)
        return questions
