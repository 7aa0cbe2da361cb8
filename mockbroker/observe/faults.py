"""Faults of a cluster: the list of them, and which of them a request meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from mockbroker.arguments import hints, short_repr
from mockbroker.json_values import checked_value
from mockbroker.observe.fault import FAULT_KINDS, Fault, Rule, parameters_of
from mockbroker.observe.fault_kinds import FaultMethods
from mockbroker.observe.selection import Subject

if TYPE_CHECKING:
    from mockbroker.broker.exchange import Exchange
    from mockbroker.observe.driver import ClusterDriver
    from mockbroker.observe.selection import Topics

__all__ = ["Faults"]

F = TypeVar("F", bound=Fault)


class Faults(FaultMethods):
    """The faults of a cluster, in the order in which they were added. Thread-safe, but for `fired_at`, which connections call.

    topics: the cluster, which tells topics by name and id. driver: runs the cluster; faults change within its `call` only.
    """

    def __init__(self, topics: Topics, driver: ClusterDriver) -> None:
        self._topics = topics
        self._driver = driver
        self._all: Sequence[Fault] = ()
        self._active: Sequence[Fault] = ()
        """Without those that are known to be cleared or spent."""
        self._added = 0

    def all(self) -> list[Fault]:
        """Return every fault added since the last `clear`, spent ones too."""
        return list(self._all)

    def add(self, fault: F) -> F:
        """Add a fault and return it.

        Raises TypeError for an unknown option or a wrong type, ValueError for a value out of range or a fault added before.
        """
        fault.check()
        self._driver.call(lambda: self._add(fault))
        return fault

    def _add(self, fault: Fault) -> None:
        fault.attach(self._driver, self._added + 1)
        self._added += 1
        self._all = [*self._all, fault]
        self._active = [*(other for other in self._active if other.active), fault]

    def _add_fault(self, fault: F) -> F:
        return self.add(fault)

    def make(self, description: Mapping[str, Any]) -> Fault:
        """Add a fault from JSON values: `{"action": "fail", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "times": 2}`.

        Beside `action`, the name of a kind, and `api` (a name, a list of names, or null for all) it has the parameters of the
        kind and of `Rule`. Raises ValueError for anything else.
        """
        name, api = description.get("action"), description.get("api")
        if not isinstance(name, str) or name not in FAULT_KINDS:
            raise ValueError(f"'action' is {short_repr(name)}; it has to be one of {', '.join(FAULT_KINDS)}")
        if not (api is None or isinstance(api, str) or (isinstance(api, list) and all(isinstance(one, str) for one in api))):
            raise ValueError(f"'api' is {short_repr(api)}; it has to be a name, a list of names, or null for all")
        kind = FAULT_KINDS[name]
        own = parameters_of(kind)
        wanted = {option: parameter.annotation for option, parameter in own.items()} | hints(Rule)
        options = {key: value for key, value in description.items() if key not in ("action", "api")}
        for key in options:
            if key not in wanted:
                raise ValueError(f"{name!r} takes no {key!r}; it takes api, {', '.join(wanted)}")
        checked: Any = {key: checked_value(key, value, wanted[key]) for key, value in options.items()}
        for key, parameter in own.items():
            if parameter.default is parameter.empty and key not in checked:
                raise ValueError(f"{name!r} needs {key!r}")
        return self.add(kind(api, **checked))

    def clear(self) -> None:
        """Clear and forget every fault."""
        self._driver.call(self._clear)

    def _clear(self) -> None:
        cleared, self._all, self._active = self._all, (), ()
        for fault in cleared:
            fault.clear()

    def check(self) -> None:
        """Raise AssertionError if a fault never fired: the test did not try what the fault was to break."""
        added = self._all
        idle = [fault for fault in added if not fault.fired]
        if idle:
            raise AssertionError(f"{len(idle)} of {len(added)} faults never fired: {', '.join(map(repr, idle))}")

    def fired_at(self, exchange: Exchange, request: Any) -> Sequence[Fault]:
        """Return the faults that fire at a request, in the order in which they were added; counts the request."""
        if not self._active:
            return ()
        subject = Subject(self._topics, exchange, request)
        return [fault for fault in self._active if fault.try_to_fire(subject)]
