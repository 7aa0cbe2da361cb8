"""Journal of a cluster: the last requests and responses in a bounded ring, and the questions that tests ask about them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import IO, TYPE_CHECKING, Any, Unpack

from mockbroker.arguments import Count, Seconds, check_arguments, hints
from mockbroker.observe.selection import Api, Selection, Subject, api_keys, selects

if TYPE_CHECKING:
    from kafkawire.protocol.wire import Buffer
    from mockbroker.broker.exchange import Exchange
    from mockbroker.observe.driver import ClusterDriver
    from mockbroker.observe.selection import Topics

__all__ = ["Journal"]

_MOST_LISTED = 20
"""Requests that the message of a failed assertion lists."""

_WAIT: Mapping[str, Any] = {"count": Count, "timeout": Seconds}


class Journal:
    """The last requests with their responses. Thread-safe, but for `record` and `answered`, which connections call.

    topics: the cluster, which tells topics by name and id. driver: runs the cluster; the journal changes within its `call`
    only. exchanges, size: how many exchanges and bytes it keeps at most; older ones go first.

    Where a method takes an `api`, that is Kafka's name of an API, several names, or None for all; further keywords select
    requests as `mockbroker.observe.selection.Selection` says. Wrong names and types are TypeErrors, wrong values ValueErrors.
    """

    def __init__(self, topics: Topics, driver: ClusterDriver, exchanges: int = 10_000, size: int = 64 << 20) -> None:
        self._topics = topics
        self._driver = driver
        self._ring: deque[Exchange] = deque()
        self._most_exchanges = exchanges
        self._most_bytes = size
        self._bytes = 0
        self._recorded = 0

    def record(self, exchange: Exchange) -> None:
        """Add a request that a broker has taken up."""
        self._ring.append(exchange)
        self._recorded += 1
        self._bytes += exchange.kept_bytes
        if self._bytes > self._most_bytes or len(self._ring) > self._most_exchanges:
            self._shrink()

    def answered(self, exchange: Exchange, when: float, frame: list[Buffer], size: int) -> None:
        """Add the response to its request: a frame of `size` bytes, given at `when` (seconds since the epoch)."""
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
        """Return the selected requests, oldest first, each with its response."""
        check_arguments("the journal", selection, hints(Selection))
        keys = api_keys(api)
        return self._selected(self._kept(), keys, selection)

    def count(self, api: Api = None, **selection: Unpack[Selection]) -> int:
        """Return the number of selected requests."""
        return len(self.requests(api, **selection))

    def wait_for(
        self, api: Api = None, *, count: int = 1, timeout: float = 10.0, **selection: Unpack[Selection]
    ) -> list[Exchange]:
        """Wait until `count` selected requests have come, and return them. Raises AssertionError after `timeout` seconds."""
        check_arguments("the journal", {"count": count, "timeout": timeout, **selection}, {**_WAIT, **hints(Selection)})
        keys = api_keys(api)
        found: list[Exchange] = []
        seen = 0

        def enough() -> bool:
            nonlocal seen
            newest_first = islice(reversed(self._ring), self._recorded - seen)
            seen = self._recorded
            found.extend(self._selected(list(newest_first)[::-1], keys, selection))
            return len(found) >= count

        if self._driver.wait_until(enough, timeout):
            return found
        wanted = f"{count} x {_describe(api, selection)}"
        raise AssertionError(f"within {timeout} s there came {len(found)} of {wanted}; {self._summary()}")

    def expect(self, api: Api = None, *, count: int | None = None, **selection: Unpack[Selection]) -> list[Exchange]:
        """Assert that `count` selected requests have come, or (None) at least one, and return them. Raises AssertionError."""
        found = self.requests(api, **selection)
        if len(found) != count if count is not None else not found:
            expected = "at least one" if count is None else str(count)
            raise AssertionError(f"there came {len(found)} x {_describe(api, selection)}, not {expected}; {self._summary()}")
        return found

    def expect_in_order(self, *apis: str, **selection: Unpack[Selection]) -> list[Exchange]:
        """Assert that requests of these APIs have come in this order, with any others in between, and return them."""
        keys = [min(api_keys(api)) for api in apis]
        found: list[Exchange] = []
        for exchange in self.requests(**selection):
            if len(found) < len(keys) and exchange.header.api_key == keys[len(found)]:
                found.append(exchange)
        if len(found) < len(keys):
            came = " and ".join(apis[: len(found)]) or "nothing of it"
            raise AssertionError(f"no {apis[len(found)]} came after {came} in {' > '.join(apis)}; {self._summary()}")
        return found

    def dump(self, file: IO[str], api: Api = None, **selection: Unpack[Selection]) -> None:
        """Write the selected requests as JSON lines (`Exchange.to_dict`)."""
        for exchange in self.requests(api, **selection):
            json.dump(exchange.to_dict(), file)
            file.write("\n")

    def clear(self) -> None:
        """Forget all requests."""
        self._driver.call(self._clear)

    def _clear(self) -> None:
        for exchange in self._ring:
            exchange.kept_bytes = 0
        self._ring.clear()
        self._bytes = 0

    def _kept(self) -> list[Exchange]:
        return self._driver.call(lambda: list(self._ring))

    def _selected(self, exchanges: Iterable[Exchange], keys: frozenset[int], selection: Selection) -> list[Exchange]:
        of_api = [exchange for exchange in exchanges if not keys or exchange.header.api_key in keys]
        return [one for one in of_api if selects(selection, Subject(self._topics, one))] if selection else of_api

    def _summary(self) -> str:
        """Return the last requests, for the message of a failed assertion."""
        kept = self._kept()
        if not kept:
            return "the journal has nothing"
        last = kept[-_MOST_LISTED:]
        lines = [f"\n  {exchange.time - kept[0].time:9.3f} s  {exchange!r}" for exchange in last]
        return f"the journal has {len(kept)}, the last of them{''.join(lines)}"


def _describe(api: Api, selection: Selection) -> str:
    name = api if isinstance(api, str) else " or ".join(api or ()) or "any request"
    options = ", ".join(f"{key}={value!r}" for key, value in selection.items())
    return name + (f" with {options}" if options else "")
