"""Base class of the kinds of faults: the rule that selects requests, the counts, and a method for each effect.

To add a kind of fault, write a subclass in `fault_kinds.py`: its name, the parameters of its constructor and its effects are
all that Python, JSON and the control port need.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

from kafkawire import protocol
from kafkawire.errors import ErrorCode
from mockbroker.arguments import Count, Ordinal, Probability, Seconds, check_arguments, hints
from mockbroker.observe.selection import Api, Selection, Subject, api_keys, selects

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Response
    from mockbroker.broker.answers import Silence
    from mockbroker.broker.exchange import Exchange
    from mockbroker.broker.observers import InjectedError, When
    from mockbroker.observe.driver import ClusterDriver
    from mockbroker.state.waiting import Watchers

__all__ = ["FAULT_KINDS", "Fault", "Rule", "parameters_of"]

FAULT_KINDS: dict[str, type[Fault]] = {}
"""Name of a kind, as JSON has it under "action" -> its class. Each subclass of `Fault` enters itself."""

_WAIT: Mapping[str, Any] = {"count": Count, "timeout": Seconds}
_NOT_IN_REPR = ("action", "api", "id", "fired", "seen", "active")


class Rule(Selection, total=False):
    """Requests that a fault fires at: those that the selection selects, restricted by number and chance."""

    nth: Ordinal
    """Number of the first such request that the fault fires at, counted from 1."""
    times: Ordinal
    """How often the fault fires before it is spent; without limit if left out."""
    probability: Probability
    """Chance that the fault fires at such a request."""
    seed: int
    """Seed of the random numbers for `probability`; 0 if left out, so that runs repeat."""


class Fault:
    """One fault: a rule, how often it fired, and its effects. It ends when it is spent or cleared, or with its `with` block.

    api: Kafka's name of the API whose requests the fault fires at, several names, or None for all APIs. rule: as in `Rule`.
    The methods for tests (`clear`, `wait_for` and the properties) are thread-safe; the effects run where the cluster is
    touched.

    Example: a kind of fault that sends the response twice, as Python takes it in `kafka.faults.add(Repeat("Fetch", times=1))`
    and the control port in `{"action": "repeat", "api": "Fetch", "times": 1}`.

        class Repeat(Fault, name="repeat"):
            def damage_frame(self, frame: bytes) -> bytes:
                return frame + frame
    """

    name: ClassVar[str]
    """Name of the kind: that of its method in Python, and its "action" in JSON."""
    only: ClassVar[str | None] = None
    """The only API that faults of the kind can fire at; None for any API."""

    def __init_subclass__(cls, *, name: str) -> None:
        super().__init_subclass__()
        cls.name = name
        FAULT_KINDS[name] = cls

    def __init__(self, api: Api, **rule: Unpack[Rule]) -> None:
        self.id = 0
        """Number of the fault in its cluster, counted from 1; 0 until the fault is added."""
        self.fired = 0
        """How often the fault has fired."""
        self.seen = 0
        """How many requests the rule has selected."""
        self._apis = _keys(type(self), api)
        self._rule = rule
        self._random = random.Random(rule.get("seed", 0))
        self._cleared = False
        self._driver: ClusterDriver

    def attach(self, driver: ClusterDriver, number: int) -> None:
        """Make this the fault of a cluster with this number. Raises ValueError if it is the fault of a cluster already."""
        if self.id:
            raise ValueError(f"{self!r} has been added before: make another one")
        self.id = number
        self._driver = driver

    # For tests

    def clear(self) -> None:
        """Let every further request pass."""
        self._driver.call(self._clear)

    def _clear(self) -> None:
        self._cleared = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def wait_for(self, count: int = 1, *, timeout: float = 10.0) -> None:
        """Wait until the fault has fired `count` times. Raises AssertionError after `timeout` seconds."""
        check_arguments("wait_for()", {"count": count, "timeout": timeout}, _WAIT)
        if not self._driver.wait_until(lambda: self._reached >= count, timeout):
            raise AssertionError(f"within {timeout} s it fired {self._reached} of {count} times: {self}")

    @property
    def _reached(self) -> int:
        """Number that `wait_for` waits for."""
        return self.fired

    @property
    def active(self) -> bool:
        """True until the fault is cleared or spent."""
        return not self._cleared and self.fired < self._rule.get("times", self.fired + 1)

    def to_dict(self) -> dict[str, Any]:
        """Return the fault as JSON values: its description, as `Faults.make` takes it, and its counts."""
        given = {name: getattr(self, name) for name in parameters_of(type(self))}
        options = {name: value.name if isinstance(value, ErrorCode) else value for name, value in given.items()}
        apis = [protocol.request(key).name for key in sorted(self._apis)]
        counts = {"id": self.id, "fired": self.fired, "seen": self.seen, "active": self.active}
        return {"action": self.name, "api": apis or None, **options, **self._rule, **counts}

    def __repr__(self) -> str:
        described = self.to_dict()
        options = [f", {name}={value}" for name, value in described.items() if name not in _NOT_IN_REPR]
        return f"<Fault {self.name} {' or '.join(described['api'] or ['any API'])}{''.join(options)}: fired {self.fired}>"

    # For Faults

    def check(self) -> None:
        """Check the arguments. Raises TypeError for an unknown option or a wrong type, ValueError for a value out of range."""
        own = {name: parameter.annotation for name, parameter in parameters_of(type(self)).items()}
        given = {name: getattr(self, name) for name in own}
        check_arguments(f"{self.name}()", {**given, **self._rule}, {**own, **hints(Rule)})

    def try_to_fire(self, subject: Subject) -> bool:
        """Count a request if the rule selects it; True if the fault fires at it."""
        rule = self._rule
        if not self.active or (self._apis and subject.exchange.header.api_key not in self._apis) or not selects(rule, subject):
            return False
        self.seen += 1
        if self.seen < rule.get("nth", 1) or self._random.random() >= rule.get("probability", 1.0):
            return False
        self.fired += 1
        return True

    # Effects, in the order in which a request and its response pass these points. Each kind overrides some of them.

    def hold_back(self, when: When, exchange: Exchange, now: float) -> tuple[float, Sequence[Watchers]] | None:
        """Return the deadline and the watchers that end a wait of the request or its response; None for no wait."""
        return None

    def silence(self, when: When) -> Silence | None:
        """Return the silence that replaces the handler's work or the response; None for neither."""
        return None

    @property
    def injected_error(self) -> InjectedError | None:
        """Error that the handler puts into the response."""
        return None

    def change_response(self, response: Response) -> None:
        """Change the response in place."""

    def damage_frame(self, frame: bytes) -> bytes:
        """Return the bytes to send in place of the response's frame."""
        return frame

    def split_frame(self, frame: bytes) -> tuple[Sequence[bytes], float]:
        """Return the frame in pieces, and the seconds between them."""
        return [frame], 0.0

    @property
    def closes_connection(self) -> bool:
        """True if the connection is closed after the response."""
        return False

    @property
    def mute_seconds(self) -> float:
        """Seconds after the response in which the connection serves nothing."""
        return 0.0


def parameters_of(kind: type[Fault]) -> Mapping[str, inspect.Parameter]:
    """Return the parameters that a kind has beside `api` and the rule, by name, with their types and defaults."""
    signature = inspect.signature(kind, eval_str=True)
    return {name: found for name, found in signature.parameters.items() if name != "api" and found.kind != found.VAR_KEYWORD}


def _keys(kind: type[Fault], api: Api) -> frozenset[int]:
    """Return the keys of the APIs of a fault, none for all. Raises ValueError for an API that the kind cannot fire at."""
    keys = api_keys(api)
    if kind.only is None:
        return keys
    possible = api_keys(kind.only)
    if not keys <= possible:
        raise ValueError(f"{kind.name}() applies to {kind.only} only, not to {api!r}")
    return possible
