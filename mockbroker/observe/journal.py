"""The last requests and answers in a bounded ring, and what tests ask about them."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import IO, TYPE_CHECKING, Unpack

from mockbroker.arguments import Count, Seconds, check_arguments, hints
from mockbroker.observe.selection import Selection, Subject, api_keys, selects

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer
    from mockbroker.broker.exchange import Exchange
    from mockbroker.observe.selection import Topics

__all__ = ["Journal"]

_SHOWN = 20
"""Requests that the message of a failed assertion lists."""

_WAIT: Mapping[str, type] = {"count": Count, "timeout": Seconds}
Api = str | Iterable[str] | None


class Journal:
    """The ring. Any thread may read it.

    topics: of the cluster. exchanges, size: how many exchanges and bytes it keeps; older ones go first. Where a method takes an
    `api`, that is Kafka's name of one, a list of names, or None for all; the other keywords are those of
    `mockbroker.observe.selection.Selection`.
    """

    def __init__(self, topics: Topics, exchanges: int = 10_000, size: int = 64 << 20) -> None:
        self._topics = topics
        self._ring: deque[Exchange] = deque()
        self._most_exchanges = exchanges
        self._most_bytes = size
        self._bytes = 0
        self._recorded = 0
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._waiters = 0

    def record(self, exchange: Exchange) -> None:
        """Add a request that a broker has taken up."""
        with self._lock:
            self._ring.append(exchange)
            self._recorded += 1
            self._bytes += exchange.kept_bytes
            if self._bytes > self._most_bytes or len(self._ring) > self._most_exchanges:
                self._shrink()
            if self._waiters:
                self._changed.notify_all()

    def answered(self, exchange: Exchange, when: float, frame: list[Buffer], size: int) -> None:
        """Keep the answer with its request: a response frame of `size` bytes, given at `when` (seconds since the epoch)."""
        with self._lock:
            exchange.response_frame = frame
            exchange.response_time = when
            if exchange.kept_bytes:
                exchange.kept_bytes += size
                self._bytes += size
                if self._bytes > self._most_bytes:
                    self._shrink()

    def _shrink(self) -> None:
        while self._bytes > self._most_bytes or len(self._ring) > self._most_exchanges:
            gone = self._ring.popleft()
            self._bytes -= gone.kept_bytes
            gone.kept_bytes = 0

    def requests(self, api: Api = None, **selection: Unpack[Selection]) -> list[Exchange]:
        """The requests that are like this, oldest first; each with its answer."""
        check_arguments("the journal", selection, hints(Selection))
        keys = api_keys(api)
        with self._lock:
            kept = list(self._ring)
        return self._like(kept, keys, selection)

    def count(self, api: Api = None, **selection: Unpack[Selection]) -> int:
        """How many requests are like this."""
        return len(self.requests(api, **selection))

    def wait_for(
        self, api: Api = None, *, count: int = 1, timeout: float = 10.0, **selection: Unpack[Selection]
    ) -> list[Exchange]:
        """Wait until `count` such requests have come, and return them. Raises AssertionError after `timeout` seconds."""
        check_arguments("the journal", {"count": count, "timeout": timeout, **selection}, {**_WAIT, **hints(Selection)})
        keys, deadline = api_keys(api), time.monotonic() + timeout
        found: list[Exchange] = []
        looked_at = 0
        while (new := self._newer_than(looked_at, deadline - time.monotonic())) is not None:
            looked_at, exchanges = new
            found += self._like(exchanges, keys, selection)
            if len(found) >= count:
                return found
        wanted = f"{count} x {_wanted(api, selection)}"
        raise AssertionError(f"within {timeout} s there came {len(found)} of {wanted}; {self._seen()}")

    def _newer_than(self, looked_at: int, timeout: float) -> tuple[int, list[Exchange]] | None:
        """The exchanges behind the first so many, and how many there were in all; None if none comes in time."""
        with self._changed:
            self._waiters += 1
            try:
                if not self._changed.wait_for(lambda: self._recorded > looked_at, timeout):
                    return None
            finally:
                self._waiters -= 1
            newest_first = list(islice(reversed(self._ring), self._recorded - looked_at))
            return self._recorded, newest_first[::-1]

    def expect(self, api: Api = None, *, count: int | None = None, **selection: Unpack[Selection]) -> list[Exchange]:
        """Assert that `count` such requests have come, or (None) at least one, and return them. Raises AssertionError."""
        found = self.requests(api, **selection)
        if len(found) != count if count is not None else not found:
            expected = "at least one" if count is None else str(count)
            raise AssertionError(f"there came {len(found)} x {_wanted(api, selection)}, not {expected}; {self._seen()}")
        return found

    def expect_in_order(self, *apis: str, **selection: Unpack[Selection]) -> list[Exchange]:
        """Assert that such requests of these APIs have come in this order, whatever came between, and return them."""
        keys = [min(api_keys(api)) for api in apis]
        found: list[Exchange] = []
        for one in self.requests(**selection):
            if len(found) < len(keys) and one.header.api_key == keys[len(found)]:
                found.append(one)
        if len(found) < len(keys):
            came = " and ".join(apis[: len(found)]) or "nothing of it"
            raise AssertionError(f"no {apis[len(found)]} came after {came} in {' > '.join(apis)}; {self._seen()}")
        return found

    def dump(self, file: IO[str], api: Api = None, **selection: Unpack[Selection]) -> None:
        """Write the requests that are like this as JSON lines (`Exchange.to_dict`)."""
        for exchange in self.requests(api, **selection):
            json.dump(exchange.to_dict(), file)
            file.write("\n")

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            for exchange in self._ring:
                exchange.kept_bytes = 0
            self._ring.clear()
            self._bytes = 0

    def _like(self, exchanges: Iterable[Exchange], keys: frozenset[int], selection: Selection) -> list[Exchange]:
        asked = [one for one in exchanges if not keys or one.header.api_key in keys]
        return [one for one in asked if selects(selection, Subject(self._topics, one))] if selection else asked

    def _seen(self) -> str:
        """What the journal has, for the message of a failed assertion."""
        with self._lock:
            kept = list(self._ring)
        if not kept:
            return "the journal has nothing"
        lines = [f"\n  {one.time - kept[0].time:9.3f} s  {one!r}" for one in islice(kept, max(0, len(kept) - _SHOWN), None)]
        return f"the journal has {len(kept)}, the last of them{''.join(lines)}"


def _wanted(api: Api, selection: Selection) -> str:
    name = api if isinstance(api, str) else " or ".join(api or ()) or "any request"
    options = ", ".join(f"{key}={value!r}" for key, value in selection.items())
    return name + (f" with {options}" if options else "")
