"""The short way of `send()`: a record into the open batch of its partition, where that takes nothing else.

Nearly every record goes this way, and each costs the user's thread what this function costs, so it is written for that: names
are bound once in a closure, and whatever is not the usual case is left to `Accumulator.append`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafkawire.core.produce.columns import RECORD_BYTES
from kafkawire.core.produce.partition_queue import PartitionQueue
from kafkawire.net.base import Lock

__all__ = ["Append", "no_short_append", "short_append"]

Append = Callable[[str, Any, Any], Any]
"""(topic, value, key) -> the handle of the record, or None if it was not accepted."""


def short_append(
    routes: Mapping[str, Mapping[bytes | None, PartitionQueue]],
    lock: Lock,
    wall_clock: Callable[[], float],
    delivery: Callable[[], Any],
) -> Append:
    """Make the function. `routes` leads from topic and key to a partition, as far as that is known.

    A `with` statement for the lock costs half as much as all the rest: hence acquire and release. An interrupt can come after
    any call, also between `acquire` and what follows it. The lock is one that knows its holder, so the way out can always
    try to release it; and from reading the batch to the last call nothing is called, so that a record is stored whole or not
    at all, even if what interrupts sends one itself.
    """
    acquire, release = lock.acquire, lock.release

    def append(topic: str, value: Any, key: Any) -> Any:
        try:
            queue = routes[topic][key]
        except (KeyError, TypeError, ValueError):  # not known, or nothing that can be
            return None
        if type(value) is not bytes:
            return None
        size = len(value) + RECORD_BYTES if key is None else len(value) + len(key) + RECORD_BYTES
        now = wall_clock()
        handle = delivery()
        try:
            acquire()
            batch = queue.open
            room = batch.room - size
            if room < 0 or now >= batch.tick or batch.keyed is not (key is not None):
                release()
                return None
            handle.batch = batch
            handle.index = count = batch.count
            batch.room = room
            batch.count = count + 1
            if key is not None:
                keys: Any = batch.keys
                keys += (key,)
            batch.values.append(value)
            release()
        except BaseException:
            _release_if_held(lock)
            raise
        return handle

    return append


def no_short_append(_topic: str, _value: Any, _key: Any) -> None:
    """In place of the short way, for producers with serializers: no record goes it."""


def _release_if_held(lock: Lock) -> None:
    """The way out of what was interrupted somewhere between the calls of `acquire` and `release`, or in one of them."""
    try:
        lock.release()
    except RuntimeError:  # somebody else's, or nobody's
        return
