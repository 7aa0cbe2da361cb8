"""Takes a client through a scenario on one side, and returns what it saw."""

from __future__ import annotations

import re
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from tests.scenarios.scenarios import EITHER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tests.scenarios.clients import Client
    from tests.scenarios.clusters import Side
    from tests.scenarios.process import Adapter
    from tests.scenarios.scenarios import Scenario, Step

__all__ = ["Seen", "run"]

Seen = dict[str, Any]
"""Outcome of a step: {"answer": ...}, or {"error": code, "message": text}."""

PATIENCE = 10
"""Seconds in which the brokers of a cluster come to agree on a change."""
PAUSE = 0.1

NOT_YET = {3, 5, 14, 15, 16}
"""Errors that mean that a broker has not heard of a change so far: unknown topic, no leader, loading, no
coordinator."""

READS = {
    *("watermarks", "offset_for_time", "max_timestamp", "committed", "list_topics", "describe_topic", "describe_cluster"),
    *("list_groups", "describe_group", "describe_configs"),
}
"""Steps that may be asked again for a better answer."""

RANDOM = {"topic_id", "member_id", "cluster_id", "port"}
"""Fields of which it counts only whether there is something."""

ID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
"""The random part of a member's id; Go's client commits it as metadata."""

RECENT_MS = 600_000


def run(scenario: Scenario, client: Client, adapter: Adapter, side: Side, names: str, agree: Sequence[Seen] = ()) -> list[Seen]:
    """Outcomes of all steps. `names` goes before every topic and group.

    A step is asked again for a while if its answer shows that the cluster is not yet where it is going: by an error of that
    kind, or because it should be another, stated in the step or seen on the other side (`agree`).
    """
    found: list[Seen] = []
    for number, step in enumerate(scenario.steps):
        wanted = agree[number] if agree else None
        found.append(_settled(step, partial(_seen, step, client, adapter, side, names), wanted))
    return found


def _settled(step: Step, look: Callable[[], Seen], wanted: Seen | None) -> Seen:
    deadline = time.monotonic() + PATIENCE
    while True:
        seen = look()
        good = is_as_stated(step, seen) and (wanted is None or seen == wanted)
        may_change = step.do in READS or seen.get("error") in NOT_YET
        if good or not may_change or time.monotonic() > deadline:
            return seen
        time.sleep(PAUSE)


def is_as_stated(step: Step, seen: Seen) -> bool:
    """True if a step ended with the error or the answer that it must end with."""
    if step.error == EITHER:
        return True
    if step.error is not None or "error" in seen:
        return seen.get("error") == step.error
    return step.answer is None or seen["answer"] == step.answer


def _seen(step: Step, client: Client, adapter: Adapter, side: Side, names: str) -> Seen:
    fields = {name: _renamed(name, value, names) for name, value in step.fields.items()}
    if step.do in client.owners_steps:
        return {"answer": getattr(side, step.do)(**fields)}
    return {name: _comparable(value) for name, value in adapter.ask(step.do, fields).items()}


def _renamed(field: str, value: Any, names: str) -> Any:
    if field in {"topic", "group", "prefix", "member"} or (field == "name" and value in {"t", "none"}):
        return names + value
    if field in {"topics", "members"}:
        return [names + each for each in value]
    return value


def _comparable(value: Any) -> Any:
    """Value with random and momentary parts replaced, so that both sides can be compared."""
    if isinstance(value, dict):
        return {key: bool(inner) if key in RANDOM else _comparable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_comparable(inner) for inner in value]
    if isinstance(value, str):
        return ID.sub("(id)", value)
    if isinstance(value, int) and abs(value - time.time() * 1000) < RECENT_MS:
        return "now"
    return value
