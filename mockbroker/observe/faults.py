"""What tests break on command: rules that say which requests suffer what, and count how often they did.

Pure: the connection asks which rules a request meets and carries their actions out.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, fields
from typing import TYPE_CHECKING, Any, Self, TypeVar, Unpack, get_type_hints

from kafkawire import protocol
from kafkawire.errors import ErrorCode
from mockbroker.arguments import Count, Ordinal, Probability, Seconds, check_argument, check_arguments, hints, short_repr
from mockbroker.broker.observers import InjectedError, When
from mockbroker.json_values import checked_value
from mockbroker.observe.actions import (
    ACTIONS,
    Action,
    Corrupt,
    Cut,
    Delay,
    Disconnect,
    Drop,
    Fail,
    Flip,
    Hold,
    Mismatch,
    Split,
    Throttle,
)
from mockbroker.observe.selection import Selection, Subject, api_keys, selects

if TYPE_CHECKING:
    from mockbroker.broker.exchange import Exchange
    from mockbroker.observe.selection import Topics
    from mockbroker.state.waiting import Watchers

__all__ = ["Barrier", "Fault", "Faults", "Rule"]

Api = str | Iterable[str] | None
F = TypeVar("F", bound="Fault")

_WAIT: Mapping[str, type] = {"count": Count, "timeout": Seconds}
_NOT_GIVEN = ("action", "api", "id", "fired", "seen", "active")
"""What `to_dict` shows beside the options."""


class Rule(Selection, total=False):
    """Which requests a fault meets, and how many of them."""

    nth: Ordinal
    """Only from the nth such request on, counted from 1."""
    times: Ordinal
    """Only so often; then the fault is spent."""
    probability: Probability
    """Only so likely, from 0 to 1."""
    seed: int
    """Of the dice for `probability`; 0 if left out, so that a run repeats."""


class Fault:
    """One rule. It stays until it is spent or cleared, or the end of its `with` block. Any thread may call it."""

    def __init__(self, faults: Faults, number: int, action: Action, apis: frozenset[int], rule: Rule) -> None:
        self.id = number
        """Faults of a cluster are counted from 1."""
        self.action = action
        self.fired = 0
        """How often it has fired."""
        self.seen = 0
        """How many requests it could have fired at."""
        self._faults = faults
        self._apis = apis
        self._rule = rule
        self._dice = random.Random(rule.get("seed", 0))
        self._cleared = False

    def clear(self) -> None:
        """Let every further request pass."""
        self._cleared = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def wait_for(self, count: int = 1, *, timeout: float = 10.0) -> None:
        """Wait until it has fired so often. Raises AssertionError after `timeout` seconds."""
        check_arguments("wait_for()", {"count": count, "timeout": timeout}, _WAIT)
        changed = self._faults.changed
        with changed:
            if not changed.wait_for(lambda: self._count() >= count, timeout):
                raise AssertionError(f"within {timeout} s it fired {self._count()} of {count} times: {self}")

    def _count(self) -> int:
        return self.fired

    @property
    def active(self) -> bool:
        """Whether it can still strike."""
        return not self._cleared and self.fired < self._rule.get("times", self.fired + 1)

    @property
    def injected(self) -> InjectedError | None:
        """What handlers need to know of a Fail rule."""
        if isinstance(self.action, Fail):
            return InjectedError(self.action.error, self._rule.get("topic"), self._rule.get("partition"))
        return None

    def strikes(self, subject: Subject) -> bool:
        """Whether a request meets the rule; counts it."""
        rule = self._rule
        if not self.active or (self._apis and subject.exchange.header.api_key not in self._apis) or not selects(rule, subject):
            return False
        self.seen += 1
        if self.seen < rule.get("nth", 1) or self._dice.random() >= rule.get("probability", 1.0):
            return False
        self.fired += 1
        return True

    def wait(self, when: When, exchange: Exchange, now: float) -> tuple[float, Sequence[Watchers]] | None:
        """As its action's; whoever waits for what it holds hears of it."""
        found = self.action.wait(when, exchange, now)
        if found is not None:
            with self._faults.changed:
                self._faults.changed.notify_all()
        return found

    def to_dict(self) -> dict[str, Any]:
        """As the control port shows it, and `Faults.make` takes it but for the counts."""
        given = {f.name: getattr(self.action, f.name) for f in _given_fields(type(self.action))}
        shown = {name: value.name if isinstance(value, ErrorCode) else value for name, value in given.items()}
        apis = [protocol.request(key).name for key in sorted(self._apis)]
        counts = {"id": self.id, "fired": self.fired, "seen": self.seen, "active": self.active}
        return {"action": type(self.action).__name__.lower(), "api": apis or None, **shown, **self._rule, **counts}

    def __repr__(self) -> str:
        shown = self.to_dict()
        given = [f", {name}={value}" for name, value in shown.items() if name not in _NOT_GIVEN]
        return f"<Fault {shown['action']} {' or '.join(shown['api'] or ['any API'])}{''.join(given)}: fired {self.fired}>"


class Barrier(Fault):
    """Requests that are held until the test lets them go. As a context manager it lets all go at the end."""

    action: Hold

    @property
    def held(self) -> list[Exchange]:
        """The requests that it holds now, oldest first."""
        held: list[Exchange] = self._faults.call(lambda: self.action.held)
        return held

    def release(self, count: int | None = None) -> None:
        """Let the oldest `count` requests go and hold on to others; or let all go, and every further one pass."""
        if count is None:
            super().clear()
        else:
            check_argument("count", count, Count)
        self._faults.call(lambda: self.action.release(count))

    def clear(self) -> None:
        self.release()

    def _count(self) -> int:
        return self.action.arrived


class Faults:
    """The faults of a cluster, in the order in which they were made. Any thread may call it.

    `call` runs an action where the cluster may be touched: a driver with a thread of its own puts its way there. `changed` is
    notified whenever a fault has fired. topics: of the cluster.
    """

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self.call: Callable[[Callable[[], Any]], Any] = lambda action: action()
        self.changed = threading.Condition()
        self._all: list[Fault] = []
        self._active: list[Fault] = []
        self._made = 0

    def all(self) -> list[Fault]:
        """Every fault since the last `clear`, spent ones too."""
        return list(self._all)

    def add(self, action: Action, api: Api, rule: Rule) -> Fault:
        """Add a fault for an API, several or (None) all, by Kafka's names.

        Raises TypeError for an option that is unknown or of a wrong type, ValueError for a wrong value or API.
        """
        return self._add(Barrier if isinstance(action, Hold) else Fault, action, api, rule)

    def _add(self, kind: type[F], action: Action, api: Api, rule: Rule) -> F:
        apis = _apis_of(action, api)
        name, own = type(action).__name__.lower(), _own_types(type(action))
        check_arguments(f"{name}()", {**{option: getattr(action, option) for option in own}, **rule}, {**own, **hints(Rule)})
        with self.changed:
            self._made += 1
            fault = kind(self, self._made, action, apis, rule)
            self._all = [*self._all, fault]
            self._active = [*(one for one in self._active if one.active), fault]
        return fault

    def make(self, description: Mapping[str, Any]) -> Fault:
        """Add a fault from plain values: `{"action": "fail", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "times": 2}`.

        Beside `action` and `api` (a name, a list of names or null for all) it has what the method of the action's name takes.
        Raises ValueError for what that does not take.
        """
        name, api = description.get("action"), description.get("api")
        if not isinstance(name, str) or name not in ACTIONS:
            raise ValueError(f"'action' is {short_repr(name)}; it has to be one of {', '.join(ACTIONS)}")
        if not (api is None or isinstance(api, str) or (isinstance(api, list) and all(isinstance(one, str) for one in api))):
            raise ValueError(f"'api' is {short_repr(api)}; it has to be a name, a list of names, or null for all")
        kind = ACTIONS[name]
        own = _own_types(kind)
        wanted = own | hints(Rule)
        given = {key: value for key, value in description.items() if key not in ("action", "api")}
        for key in given:
            if key not in wanted:
                raise ValueError(f"{name!r} takes no {key!r}; it takes api, {', '.join(wanted)}")
        checked: Any = {key: checked_value(key, value, wanted[key]) for key, value in given.items()}
        rule: Any = {key: checked.pop(key) for key in given if key not in own}
        missing = [f.name for f in _given_fields(kind) if f.default is MISSING and f.name not in checked]
        if missing:
            raise ValueError(f"{name!r} needs {missing[0]!r}")
        return self.add(kind(**checked), api, rule)

    def clear(self) -> None:
        """Clear and forget every fault."""
        with self.changed:
            made, self._all, self._active = self._all, [], []
        for fault in made:
            fault.clear()

    def check(self) -> None:
        """Raise AssertionError if there is a fault that never fired: what it was to break was not tried."""
        idle = [fault for fault in self._all if not fault.fired]
        if idle:
            raise AssertionError(f"{len(idle)} of {len(self._all)} faults never fired: {', '.join(map(repr, idle))}")

    def striking(self, exchange: Exchange, request: Any) -> list[Fault]:
        """The faults that a request meets. Each of them counts it."""
        if not self._active:
            return []
        subject = Subject(self._topics, exchange, request)
        with self.changed:
            found = [fault for fault in self._active if fault.strikes(subject)]
            if found:
                self.changed.notify_all()
        return found

    # One method a kind of fault; their names are those of ACTIONS.

    def fail(self, api: Api, error: ErrorCode, **rule: Unpack[Rule]) -> Fault:
        """Answer with an error, for the selected topics and partitions where the API has room for one each."""
        return self.add(Fail(error), api, rule)

    def delay(self, api: Api, seconds: float, *, when: When = "after", **rule: Unpack[Rule]) -> Fault:
        """Hold requests (`when="before"`) or their answers back for a time."""
        return self.add(Delay(seconds, when), api, rule)

    def hold(self, api: Api, *, when: When = "before", **rule: Unpack[Rule]) -> Barrier:
        """Hold requests or (`when="after"`) their answers until the barrier is released."""
        return self._add(Barrier, Hold(when), api, rule)

    def drop(self, api: Api, *, when: When = "after", **rule: Unpack[Rule]) -> Fault:
        """Never answer, nor anything behind it on the connection."""
        return self.add(Drop(when), api, rule)

    def disconnect(self, api: Api, *, when: When = "before", **rule: Unpack[Rule]) -> Fault:
        """Close the connection instead of answering."""
        return self.add(Disconnect(when), api, rule)

    def throttle(self, api: Api, throttle_time_ms: int, **rule: Unpack[Rule]) -> Fault:
        """Ask the client to wait before its next request, and do not serve it before."""
        return self.add(Throttle(throttle_time_ms), api, rule)

    def corrupt(self, api: Api = "Fetch", **rule: Unpack[Rule]) -> Fault:
        """Damage the record batches that Fetch brings, so that their checksums are wrong."""
        return self.add(Corrupt(), api, rule)

    def mismatch(self, api: Api, by: int = 1, **rule: Unpack[Rule]) -> Fault:
        """Answer under a wrong correlation id."""
        return self.add(Mismatch(by), api, rule)

    def flip(self, api: Api, at: int = -1, **rule: Unpack[Rule]) -> Fault:
        """Invert one byte of the answer, counted from its 4-byte size on or, negative, from its end."""
        return self.add(Flip(at), api, rule)

    def cut(self, api: Api, after_bytes: int, **rule: Unpack[Rule]) -> Fault:
        """Break the connection in the middle of the answer."""
        return self.add(Cut(after_bytes), api, rule)

    def split(self, api: Api, size: int, pause: float = 0.001, **rule: Unpack[Rule]) -> Fault:
        """Send the answer in pieces of `size` bytes, `pause` seconds apart."""
        return self.add(Split(size, pause), api, rule)


def _apis_of(action: Action, api: Api) -> frozenset[int]:
    """The keys of the APIs that a fault is for. Raises ValueError for one that it cannot strike."""
    keys = api_keys(api)
    if action.only is None:
        return keys
    able = api_keys(action.only)
    if not keys <= able:
        raise ValueError(f"{type(action).__name__.lower()}() strikes {action.only} only, not {api!r}")
    return able


def _own_types(kind: type[Any]) -> dict[str, Any]:
    """The options of an action with their types."""
    types = get_type_hints(kind, include_extras=True)
    return {f.name: types[f.name] for f in _given_fields(kind)}


def _given_fields(kind: type[Any]) -> list[Field[Any]]:
    """The fields of an action that its maker gives."""
    return [f for f in fields(kind) if f.init]
