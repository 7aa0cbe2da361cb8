"""Short append: puts a record into the open batch of its partition, where nothing else needs to be done.

Nearly every record takes this path, and costs the user's thread as much as this function does. So names are bound once in a
closure, and everything but the usual case is left to `Accumulator.append`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from kafkawire.core.produce.columns import RECORD_BYTES
from kafkawire.core.produce.partition_queue import PartitionQueue
from kafkawire.net.base import Lock

__all__ = ["Append", "no_short_append", "short_append"]

Append = Callable[[str, Any, Any], Any]
"""(topic, value, key) -> handle of the record, or None if it was not accepted."""


def short_append(
    routes: Mapping[str, Mapping[bytes | None, PartitionQueue]],
    lock: Lock,
    wall_clock: Callable[[], float],
    new_handle: Callable[[], Any],
) -> Append:
    """Return the short append. `routes` leads from topic and key to a partition, as far as that is known.

    A `with` statement for the lock costs half as much as all the rest: hence acquire and release. An interrupt can come after
    any call, also between `acquire` and what follows it. The lock knows its holder, so the way out can always try to
    release it; and from reading the batch to the last call nothing is called, so that a record is stored whole or not at all,
    even if a signal handler sends one itself.
    """
    acquire, release = lock.acquire, lock.release

    def append(topic: str, value: Any, key: Any) -> Any:
        try:
            queue = routes[topic][key]
        except (KeyError, TypeError, ValueError):  # not known, or of a type that no topic or key has
            return None
        if type(value) is not bytes:
            return None
        size = len(value) + RECORD_BYTES if key is None else len(value) + len(key) + RECORD_BYTES
        now = wall_clock()
        handle = new_handle()
        try:
            acquire()
            batch = queue.open
            room = batch.room - size
            if room < 0 or now >= batch.tick or batch.keyed is not (key is not None):
                release()
                return None
            handle.completion = batch.completion
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
    """Accept nothing: stands for the short append in producers with serializers."""


def _release_if_held(lock: Lock) -> None:
    """Release the lock after an interrupt that came between `acquire` and `release`, or in one of them."""
    try:
        lock.release()
    except RuntimeError:  # another thread holds it, or none
        return
