"""Lifecycle of a producer: the flow of its sender and the flow that runs its callbacks, from their start to their end."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from kafkawire.core.completion import Completion
from kafkawire.core.produce.accumulator import Accumulator
from kafkawire.core.produce.batch import Batch
from kafkawire.core.produce.sender import Sender
from kafkawire.errors import ClosedError, ForkedError, KafkaError
from kafkawire.net.base import NEVER, Net

__all__ = ["CLOSED_TEXT", "ProducerLifecycle"]

log = logging.getLogger("kafkawire.producer")

_calling_back: ContextVar[object] = ContextVar("kafkawire_calling_back", default=None)
"""The lifecycle whose callbacks this thread or task runs: a callback that closes the producer must not wait for itself."""

CLOSED_TEXT = "the producer is closed: make a new one"


class ProducerLifecycle:
    """Starts and ends the two flows of a producer. Any thread may call its public methods.

    The flows hold on to it, not to the producer: one that is dropped goes on sending what it has accepted.
    """

    def __init__(self, net: Net, accumulator: Accumulator, sender: Sender, exit_patience: float) -> None:
        self.exit_patience = exit_patience
        """Seconds that the end of the process waits for records that are queued."""
        self.closing = False
        """True once `finish` or `close` was called."""
        self.at_end: Callable[[], None] | None = None
        """Called once neither flow runs any more. Set by the owner, when it drops the connection."""
        self._net = net
        self._accumulator = accumulator
        self._sender = sender
        self._lock = net.lock()
        self._sending: Any = None
        """Task of the sender's flow; like that of the other written under the lock, once."""
        self._calling: Any = None
        """Task of the flow that runs callbacks."""
        self._sender_end = Completion(net)
        self._callbacks_end = Completion(net)
        self._forked = False
        """True in a child process, after `close_after_fork`."""
        self._cut_short = False
        """True if the sender is to end without sending the rest."""
        self._reason = "the producer was closed"
        """Reason with which records fail that are not sent in the end."""

    @property
    def running(self) -> bool:
        """True while the sender's flow runs, in this process."""
        return self._sending is not None and not self._sender_end.reached and not self._forked

    @property
    def busy(self) -> bool:
        """True while one of the flows runs, in this process."""
        calling = self._calling is not None and not self._callbacks_end.reached and not self._forked
        return self.running or calling

    def finish(self, reason: str) -> None:
        """Accept nothing more, and send the records that are queued without their linger time. Does not wait.

        Records that are not sent in the end fail with this reason.
        """
        self._reason = reason
        self.closing = True
        self._accumulator.close(ClosedError(CLOSED_TEXT))
        self._accumulator.signal.set()
        self._accumulator.callback_signal.set()

    def cut_short(self) -> None:
        """End the sender at once, and fail the records that are queued. Does not wait."""
        self._cut_short = True
        self._accumulator.signal.set()

    async def close(self, deadline: float) -> None:
        """Send the records that are queued until the deadline, fail the rest with ClosedError, and end both flows.

        In a child process after fork(), leave the records to the parent.
        """
        if self._forked:
            self._leave_to_parent()
            return
        if not self.closing:
            self.finish(self._reason)
        if self._sending is not None and not await self._sender_end.wait(deadline):
            self.cut_short()
            await self._sender_end.wait(self._net.now() + 5.0)
        if self._calling is not None and _calling_back.get() is not self:
            await self._callbacks_end.wait(max(deadline, self._net.now() + 1.0))

    def _leave_to_parent(self) -> None:
        queued = self._accumulator.counts().queued
        if queued and not self.closing:
            log.warning(
                "closed in a child process after fork(): the %d records that were queued are left to the parent process", queued
            )
        self.closing = True

    def close_after_fork(self, error: ForkedError) -> None:
        """Accept nothing in a child process: it has no flows, and the records are the parent's to send."""
        self._forked = True
        self._accumulator.close_after_fork(error)

    def start_sender(self) -> None:
        """Start the sender's flow, unless it was started."""
        with self._lock:
            if self._sending is None:
                self._sending = self._net.spawn(self._run_sender(), name="kafkawire-sender")

    def start_callbacks(self) -> None:
        """Start the flow that runs callbacks, unless it was started; a record with a callback needs it."""
        with self._lock:
            if self._calling is None:
                self._calling = self._net.spawn(self._run_callbacks(), name="kafkawire-callbacks")

    async def _run_sender(self) -> None:
        if not self._sender_end.begin():
            return
        error: KafkaError | None = None
        try:
            await self._send_all(NEVER)
        except KafkaError as failure:
            log.warning("the producer cannot go on: %s", failure)
            error = failure
        except Exception as failure:
            log.exception("the producer cannot go on")
            error = KafkaError(f"the sender ended: {failure!r}")
            raise
        except BaseException as leaving:
            # The event loop ends: asyncio.run() cancels its tasks, and waits for them. A loop that is dropped waits no more.
            self.finish("the event loop ended")
            if not isinstance(leaving, GeneratorExit):
                await self._send_all(self._net.now() + self.exit_patience)
            raise
        finally:
            self._end(error or ClosedError(f"{self._reason} before this record was acknowledged"))

    def _end(self, error: KafkaError) -> None:
        """End the sender's flow: fail the records that are left, and log how many."""
        self._accumulator.close(error)
        for batch in self._sender.stop():
            self._accumulator.fail(batch, error)
        self._accumulator.fail_all(error)
        line = self._accumulator.losses.take_last_line()
        if line is not None:
            log.warning("%s: %s", self._reason, line)
        self._sender_end.reach()
        if self._callbacks_end.reached:
            self._call_finished()
        self._accumulator.callback_signal.set()
        if self.at_end is not None and not self.busy:
            self.at_end()

    async def _send_all(self, until: float) -> None:
        signal = self._accumulator.signal
        finished = False
        while not finished:
            signal.clear()
            due, finished = self._sender.step()
            if self._cut_short or self._net.now() >= until:
                break
            if not finished:
                await self._net.wait(signal, min(due, until))

    async def _run_callbacks(self) -> None:
        """Run the callbacks in order, away from the sender; one that raises is logged and stops no other (trap 142)."""
        if not self._callbacks_end.begin():
            return
        _calling_back.set(self)
        try:
            await self._call_all_back()
        except BaseException as leaving:
            if not isinstance(leaving, GeneratorExit):
                await self._call_all_back()  # see `_run_sender`
            raise
        finally:
            self._callbacks_end.reach()
            if self.at_end is not None and not self.busy:
                self.at_end()

    async def _call_all_back(self) -> None:
        accumulator = self._accumulator
        over = False
        while not over:
            accumulator.callback_signal.clear()
            over = self.closing and (self._sending is None or self._sender_end.reached)
            self._call_finished()
            if not over:
                await self._net.wait(accumulator.callback_signal, NEVER)

    def _call_finished(self) -> None:
        while self._accumulator.finished_callbacks:
            _call_back(self._accumulator.finished_callbacks.popleft())


def _call_back(batch: Batch) -> None:
    for index, callback in batch.given_callbacks().items():
        try:
            try:
                metadata = batch.completion.result(index)
            except KafkaError as error:
                callback(error, None)
            else:
                callback(None, metadata)
        except Exception:
            log.exception("an on_delivery callback raised")
