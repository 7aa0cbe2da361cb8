"""A connection to one broker after the handshake: the versions that both ends speak, requests in them, and throttling."""

from __future__ import annotations

import logging
from typing import Any

from kafkawire.core.cluster.backoff import Seldom
from kafkawire.core.cluster.metadata import Address
from kafkawire.errors import TimedOut
from kafkawire.net.base import Link, Net, Pending, Signal, call
from kafkawire.protocol.frames import RequestFrame, decode_response, request_frame
from kafkawire.protocol.handshake import Ranges, common_version
from kafkawire.protocol.messages import response
from kafkawire.protocol.schema import Request, Response

__all__ = ["THROTTLED_BY_CLIENT", "BrokerLink"]

log = logging.getLogger("kafkawire.connection")

THROTTLED_BY_CLIENT = {
    0: 6, 1: 8, 2: 3, 3: 6, 8: 4, 9: 4, 10: 2, 11: 3, 12: 2, 13: 2, 14: 2, 15: 2, 16: 2, 18: 2, 19: 3, 20: 2, 21: 1, 22: 1,
    24: 1, 25: 1, 26: 1, 28: 1, 29: 1, 30: 1, 31: 1, 32: 2, 33: 1, 34: 1, 35: 1, 37: 1, 38: 1, 39: 1, 40: 1, 41: 1, 42: 1,
}  # fmt: skip
"""API key -> first version whose throttle time the client has to wait itself; before, the broker did (KIP-219, trap 112).

APIs that are not in the table are younger than KIP-219: every version of theirs leaves the wait to the client.
"""

LONGEST_THROTTLE = 60.0
"""Longest pause in seconds that one answer may impose. Brokers compute quotas over 11 windows of a second unless configured
otherwise (quota.window.num, quota.window.size.seconds), and since KIP-219 they leave unread what a client sends too early. A
longer pause gains nothing, and a wrong one would stop a client for good.
"""

THROTTLE_LOG_PAUSE = 60.0
"""Seconds between two log lines about the same broker and API."""


class BrokerLink:
    """A link and the API versions of its broker. Thread-safe.

    `request_timeout` is the time in seconds after which a link that brings no answer is given up: it may be half dead.
    """

    __slots__ = (
        "_client_id", "_net", "_request_timeout", "_throttles", "_versions", "address", "link", "muted_until", "ranges",
        "used_at",
    )  # fmt: skip

    def __init__(
        self,
        net: Net,
        link: Link,
        address: Address,
        ranges: Ranges,
        client_id: str,
        request_timeout: float,
        throttles: Seldom,
    ) -> None:
        self.link = link
        self.address = address
        self.ranges = ranges
        self.muted_until = 0.0
        """Time before which nothing is sent: the broker throttles this client."""
        self.used_at = net.now()
        """Time of the last request."""
        self._net = net
        self._client_id = client_id
        self._request_timeout = request_timeout
        self._throttles = throttles
        self._versions: dict[tuple[int, int | None], int] = {}

    def version(self, request: type[Request], highest: int | None = None) -> int:
        """Returns the highest common version, up to `highest`. Raises UnsupportedVersionError if there is none."""
        known = self._versions.get((request.key, highest))
        if known is None:
            known = self._versions[request.key, highest] = common_version(request, self.ranges, highest)
        return known

    def send(self, message: Request, version: int, signal: Signal | None) -> Pending:
        """Send a request without waiting; see `Link.send`."""
        self.used_at = self._net.now()
        return self.link.send(self._frame(message, version), signal)

    async def call(self, message: Request, deadline: float, highest: int | None = None) -> Any:
        """Send one request, in a version up to `highest`, and return its decoded response.

        Waits first for as long as the broker throttles this client. A link that brings no answer within the request timeout
        is taken down. Raises TimedOut, RequestTimedOut, ConnectionLost, DecodeError or UnsupportedVersionError.
        """
        await self._wait_out_throttle(deadline)
        kind = type(message)
        version = self.version(kind, highest)
        self.used_at = self._net.now()
        give_up_at = self.used_at + self._request_timeout
        try:
            frame = await call(self._net, self.link, self._frame(message, version), min(deadline, give_up_at))
        except TimedOut as error:
            late = f"in {self._request_timeout:g} s" if give_up_at <= deadline else "in the time given"
            failure = type(error)(f"{self.address} did not answer {kind.name} {late}")
            if give_up_at <= deadline:
                self.link.fail(failure)
            raise failure from None
        answer = decode_response(response(kind.key), version, frame)
        self.note_throttle(answer, kind, version, self._net.now())
        return answer

    def note_throttle(self, answer: Response, api: type[Request], version: int, now: float) -> None:
        """Remember the pause that a response asks for, up to LONGEST_THROTTLE, and log it from time to time."""
        asked = getattr(answer, "throttle_time_ms", 0) / 1000
        if asked <= 0:
            return
        ours = version >= THROTTLED_BY_CLIENT.get(api.key, 0)
        if ours:
            self.muted_until = max(self.muted_until, now + min(asked, LONGEST_THROTTLE))
        left_out = self._throttles.count((self.address, api.key), now)
        if left_out is not None:
            how = f"waiting {min(asked, LONGEST_THROTTLE):g} s" if ours else "the answer was held back for so long"
            more = f"; {left_out} more such answers since the last line" if left_out else ""
            log.warning("%s throttles this client by %g s after %s (a quota): %s%s", self.address, asked, api.name, how, more)

    async def _wait_out_throttle(self, deadline: float) -> None:
        if self.muted_until <= self._net.now():
            return
        await self._net.wait(self._net.signal(), min(self.muted_until, deadline))
        if self.muted_until > deadline:
            raise TimedOut(f"{self.address} throttles this client: it asked for a pause that is longer than the time given")

    def _frame(self, message: Request, version: int) -> RequestFrame:
        return request_frame(message, version, self._client_id)
