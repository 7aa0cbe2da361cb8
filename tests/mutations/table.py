"""The breaks, as data."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MUTATIONS", "Mutation"]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One break: the text `old`, which a file has once, becomes `new`. Each of `noticed_by` has to fail then.

    That is the name of a scenario of the simulation, or tests as pytest takes them.
    """

    what: str
    path: str
    old: str
    new: str
    noticed_by: tuple[str, ...]


MUTATIONS = (
    Mutation(
        "a link to an address that the broker has left is used on (trap 110)",
        "kafkawire/core/cluster/link_slots.py",
        "link.link.error is not None or link.address != address",
        "link.link.error is not None",
        ("addresses-change",),
    ),
    Mutation(
        "a fetch that failed does not have metadata asked for",
        "kafkawire/core/consume/fetcher.py",
        """        log.warning("fetch from %s: %s", link.address, error)
        self._client.metadata.suspect()
""",
        """        log.warning("fetch from %s: %s", link.address, error)
""",
        ("tests/sim/test_silent_leader.py",),
    ),
    Mutation(
        "a partition whose fetch was refused does not have metadata asked for",
        "kafkawire/core/consume/fetch_response.py",
        """        if code.refresh_metadata:
            self._client.metadata.suspect()
        if not code.retriable:
""",
        """        if not code.retriable:
""",
        ("leaders-move",),
    ),
    Mutation(
        "the room of a batch that is done is not given back",
        "kafkawire/core/produce/accumulator.py",
        "        self._free += batch.granted\n",
        "",
        ("leaders-move",),
    ),
    Mutation(
        "the room that a closed batch has left is not given back",
        "kafkawire/core/produce/accumulator.py",
        "        self._free += left\n",
        "",
        ("leaders-move",),
    ),
    Mutation(
        "an answer counts at another offset than the one that comes next",
        "kafkawire/core/consume/fetch_response.py",
        "state.revision == target.revision and self._collector.fetch_offset(state) == target.offset",
        "state.revision == target.revision",
        ("late-answers",),
    ),
    Mutation(
        "a consumer fetches although its buffer is full",
        "kafkawire/core/consume/flows.py",
        "        if not self.collector.is_full():\n",
        "        if True:\n",
        ("tests/sim/test_budget.py",),
    ),
    Mutation(
        "what is sent again comes after what was accepted later",
        "kafkawire/core/produce/partition_queue.py",
        "        self.ready.insert(at, batch)\n",
        "        self.ready.append(batch)\n",
        ("leaders-move",),
    ),
    Mutation(
        "two batches have the same sequence",
        "kafkawire/core/produce/sequences.py",
        "        self._next = advance(first, count)\n",
        "",
        ("leaders-move",),
    ),
    Mutation(
        "a batch that was opened wakes nobody",
        "kafkawire/core/produce/accumulator.py",
        "        if batch.due < self._wake_at:\n",
        "        if batch.due < 0.0:\n",
        ("nothing-wrong",),
    ),
    Mutation(
        "work that has ended wakes none of those who wait for it",
        "kafkawire/core/cluster/single_flight.py",
        """                self._waiting.clear()
            for signal in waiting:
                signal.set()
""",
        """                self._waiting.clear()
""",
        ("leaders-move",),
    ),
    Mutation(
        "a consumer lowers its signal after it has looked",
        "kafkawire/core/consume/flows.py",
        "            await self._net.wait(self._signal, min(due, deadline))\n",
        "            self._signal.clear()\n            await self._net.wait(self._signal, min(due, deadline))\n",
        ("tests/sim/test_wake_ups.py",),
    ),
    Mutation(
        "pauses that brokers ask for are not kept",
        "kafkawire/core/cluster/broker_link.py",
        "        if ours:\n",
        "        if False:\n",
        ("throttled",),
    ),
    Mutation(
        "a pause may last for ever",
        "kafkawire/core/cluster/broker_link.py",
        "self.muted_until = max(self.muted_until, now + min(asked, LONGEST_THROTTLE))",
        "self.muted_until = max(self.muted_until, now + asked)",
        ("throttled-for-ever",),
    ),
    Mutation(
        "a consumer keeps no pauses",
        "kafkawire/core/consume/fetcher.py",
        "            elif link.muted_until > now:\n",
        "            elif link.muted_until < 0:\n",
        ("throttled",),
    ),
    Mutation(
        "a flow spins while metadata is becoming old",
        "kafkawire/core/cluster/metadata_updater.py",
        "        if due > now:\n            return due\n",
        "        if due >= now:\n            return due\n",
        ("partitions-added",),
    ),
    Mutation(
        "a leader epoch goes backwards (trap 104)",
        "kafkawire/core/cluster/metadata.py",
        "    if fresh.leader_epoch >= known.leader_epoch:\n        return fresh\n",
        "    return fresh\n",
        ("tests/core/cluster/test_metadata.py",),
    ),
    Mutation(
        "a batch is given up before its time",
        "kafkawire/core/produce/accumulator.py",
        """self._patience = options["delivery_timeout_ms"] / 1000""",
        """self._patience = options["delivery_timeout_ms"] / 1250""",
        ("records-expire",),
    ),
    Mutation(
        "a broker is taken for one before 0.10 although others of its cluster are newer",
        "kafkawire/core/cluster/connector.py",
        "        if lost is not None and (self._answered or self._tls is not None):\n",
        "        if lost is not None and self._tls is not None:\n",
        ("tests/sim/test_first_contact.py",),
    ),
    Mutation(
        "a topic that was created again is taken for the old one",
        "kafkawire/core/produce/partition_queue.py",
        """the topic was deleted and created again.\"\"\"
        self._restart()
""",
        """the topic was deleted and created again.\"\"\"
""",
        ("tests/core/produce/test_accumulator.py",),
    ),
    Mutation(
        "router: a coordinator that is none any more is remembered",
        "kafkawire/core/cluster/router.py",
        "            self._coordinators.forget(target)\n",
        "            pass\n",
        ("tests/core/cluster/test_router.py",),
    ),
    Mutation(
        "router: metadata that an error code calls out of date is used on",
        "kafkawire/core/cluster/router.py",
        "        return known is None or known.refresh_metadata\n",
        "        return known is None\n",
        ("tests/core/cluster/test_router.py",),
    ),
    Mutation(
        "router: the deadline hides the cause of a failure",
        "kafkawire/core/cluster/router.py",
        "        return earlier if cut_off and earlier is not None else error\n",
        "        return error\n",
        ("tests/core/cluster/test_router.py",),
    ),
    Mutation(
        "a link slot that backs off connects at once",
        "kafkawire/core/cluster/link_slots.py",
        "        if self._net.now() >= slot.retry_at:\n",
        "        if self._net.now() >= 0:\n",
        ("tests/core/cluster/test_link_slots.py",),
    ),
)
