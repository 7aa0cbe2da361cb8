"""Parts that the Python adapters share: the loop that answers steps, and group members that poll in threads of their own.

It runs in environments without kafkawire too, so it imports the standard library only.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "BACKOFF_MS",
    "FETCH_WAIT_MS",
    "LINGER_MS",
    "RECONNECT_MS",
    "TIMEOUT",
    "GroupSteps",
    "Refused",
    "encoded",
    "plain",
    "records_of",
    "serve",
    "text",
]

TIMEOUT = 25
"""Seconds for one step, below the harness's own limit, so that a client's own words come first."""

POLL = 0.05
"""Seconds that a poll of a member may take. kafka-python 3.0.12 may forget what it has begun if it is much less."""

# Milliseconds, for clients that would take longer. Steps are small, and nothing here is about waiting.
LINGER_MS = 10
FETCH_WAIT_MS = 50
"""Until a fetch comes back with nothing: most clients wait for the last one when they end."""
BACKOFF_MS = 20
"""Until a request is tried again: some clients begin with one before they know a broker."""
RECONNECT_MS = 100
"""Until a connection is tried again, however long the broker has been away."""


class Refused(Exception):
    """The broker refused, by Kafka's error code."""

    def __init__(self, code: int, message: str | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message


def serve(steps: object, refusal: Callable[[Exception], Refused | None]) -> None:
    """Answer each line of standard input: call the method that it names, print what it returns or how it was refused.

    `refusal` makes a `Refused` of the client's own exception; None lets it end the process.
    """
    for line in sys.stdin:
        step = json.loads(line)
        try:
            answer = {"answer": getattr(steps, step.pop("do"))(**step)}
        except Exception as error:
            refused = error if isinstance(error, Refused) else refusal(error)
            if refused is None:
                raise
            answer = {"error": refused.code, "message": refused.message}
        print(json.dumps(answer), flush=True)


def text(data: bytes | None) -> str | None:
    """Keys and values are text in the scenarios."""
    return None if data is None else bytes(data).decode()


def encoded(content: str | None) -> bytes | None:
    return None if content is None else content.encode()


def records_of(polled: dict[Any, list[Any]]) -> list[Any]:
    """Records as kafka-python and aiokafka poll them."""
    return [
        [
            record.partition,
            record.offset,
            text(record.key),
            text(record.value),
            record.timestamp_type,
            record.timestamp,
            [[name, text(content)] for name, content in record.headers],
        ]
        for records in polled.values()
        for record in records
    ]


def plain(value: Any) -> Any:
    """The library's answers as JSON has them."""
    if isinstance(value, dict):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [plain(inner) for inner in value]
    if isinstance(value, bytes):
        return value.decode()
    return value if value is None or isinstance(value, (int, float, str)) else str(value)


class GroupSteps:
    """The steps of a group's members, each polled by a thread of its own until it leaves.

    A member has `poll(seconds) -> records`, `assignment() -> [[topic, partition], ...]`, `commit()` and `close()`; only its
    thread calls them.
    """

    def __init__(self) -> None:
        self._members: dict[str, _Member] = {}

    def add_member(self, name: str, make: Callable[[], Any]) -> None:
        """Members of a group, made by the step `join`."""
        self._members[name] = _Member(make)

    def settle(self, members: list[str], partitions: int) -> dict[str, Any]:
        """Each member's partitions, as soon as everyone has some and all are taken once."""

        def settled() -> bool:
            found = [self._members[name].assigned for name in members]
            return all(found) and sum(map(len, found)) == partitions

        self._wait(settled, members)
        return {name: sorted(self._members[name].assigned) for name in members}

    def received(self, members: list[str], count: int) -> list[Any]:
        """Records that the members got together since they joined, once there are `count`."""
        self._wait(lambda: sum(len(self._members[name].records) for name in members) >= count, members)
        return sorted(record for name in members for record in self._members[name].records)

    def commit_position(self, member: str) -> None:
        """Commit what was read, and wait for that."""
        self._members[member].commit()

    def leave(self, member: str) -> None:
        self._members.pop(member).leave()

    def _wait(self, done: Callable[[], bool], members: list[str]) -> None:
        deadline = time.monotonic() + TIMEOUT
        while not done():
            for name in members:
                self._members[name].check()
            if time.monotonic() > deadline:
                state = {name: (one.assigned, len(one.records)) for name, one in self._members.items()}
                raise TimeoutError(f"members, with partitions and number of records: {state}")
            time.sleep(POLL / 5)


class _Member:
    def __init__(self, make: Callable[[], Any]) -> None:
        self.assigned: list[Any] = []
        self.records: list[Any] = []
        self._failure: Exception | None = None
        self._leaving = threading.Event()
        self._to_commit = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(make,), daemon=True)
        self._thread.start()

    def _run(self, make: Callable[[], Any]) -> None:
        try:
            consumer = make()
            try:
                while not self._leaving.is_set():
                    self.records += consumer.poll(POLL)
                    self.assigned = consumer.assignment()
                    if self._to_commit.is_set():
                        consumer.commit()
                        self._to_commit.clear()
            finally:
                consumer.close()
        except Exception as error:  # noqa: BLE001 - the step that waits for this member reports it
            self._failure = error

    def check(self) -> None:
        if self._failure:
            raise self._failure

    def commit(self) -> None:
        self._to_commit.set()
        deadline = time.monotonic() + TIMEOUT
        while self._to_commit.is_set():
            self.check()
            if time.monotonic() > deadline:
                raise TimeoutError("no commit")
            time.sleep(POLL / 5)

    def leave(self) -> None:
        self._leaving.set()
        self._thread.join(TIMEOUT)
        self.check()
