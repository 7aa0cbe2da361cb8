"""The router against a model: random calls, while leaders, coordinators and brokers come, go, refuse and fall silent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from kafkawire.core.cluster.link_slots import CONTROL
from kafkawire.core.cluster.targets import AnyBroker, Controller, Coordinator, Leader, OneBroker
from kafkawire.errors import BrokerError, ErrorCode, KafkaError, broker_error
from tests.core.cluster.simulated import Simulated
from tests.core.cluster.target_apis import APIS, BROKERS, GROUPS, KINDS, LEADERS, MOST_PARTITIONS

NO_LEADER = -1
TOPICS = {"t": 1, "u": 3}
"""Topic -> its replication factor: partitions of "t" are without leader while their only replica is away."""
NO_ERRORS = {ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND}
"""Answers of coordinators about groups that do not exist: before 4.0, and since."""
RETRIABLE = [code for code in ErrorCode if code.retriable]
FATAL = [code for code in ErrorCode if not code.retriable and code not in NO_ERRORS]
IN_TRANSIT = 0.5
"""Seconds that no answer takes from the broker to the client."""


@dataclass(frozen=True)
class Plan:
    """One call to make: of `call_many`, or of `call` for the first target; after `pause` seconds, with `seconds` of time."""

    targets: list[Any]
    many: bool
    pause: float
    seconds: float


SOON = st.floats(0, 3)
SECONDS = st.one_of(st.just(0.0), st.floats(0.01, 8))
OF_ONE_KIND = st.one_of([st.lists(st.sampled_from(kind), unique=True, min_size=1, max_size=5) for kind in KINDS])
PLANS = st.lists(st.builds(Plan, OF_ONE_KIND, st.booleans(), SOON, SECONDS), min_size=1, max_size=4)
REQUESTS = ["FindCoordinator", *dict.fromkeys(api.name for api in APIS.values())]
ASKED = st.one_of(st.just(REQUESTS), st.sampled_from(REQUESTS[:3]))
TIMES = st.integers(1, 12)


class Observed:
    """One call of the router, held to the rules while it runs and when it has ended."""

    def __init__(self, machine: RouterMachine, plan: Plan) -> None:
        self.machine = machine
        self.net = machine.rig.net
        self.targets = plan.targets if plan.many else plan.targets[:1]
        self.plan = plan
        self.api = APIS[type(self.targets[0])]
        self.settled: dict[Any, tuple[float, ErrorCode]] = {}
        """Targets with a final answer: the time it was read, and its code."""
        self.misled: dict[Any, float] = {}
        """Coordinators that refused to be one: the time of the last refusal."""
        self.sent: tuple[int, float] | None = None
        """Broker and time of the last request, as far as it is known: `call` has nobody told."""

    async def run(self) -> None:
        await self.net.wait(self.net.signal(), self.net.now() + self.plan.pause)
        self.started = self.net.now()
        self.deadline = self.started + self.plan.seconds
        try:
            results = await (self._call_many() if self.plan.many else self._call())
        except KafkaError as error:
            results = dict.fromkeys(self.targets, error)
        assert self.net.now() <= self.deadline
        assert list(results) == self.targets
        for to, result in results.items():
            self._check(to, result)
        if all(to in self.settled for to in self.targets):
            assert self.net.now() == max(when for when, _ in self.settled.values())

    async def _call(self) -> dict[Any, Any]:
        (to,) = self.targets
        request = self.api.request(self.targets)
        router = self.machine.rig.client.router
        return {to: await router.call(request, to, self.deadline, read=lambda response: self._read(response, [to])[to])}

    async def _call_many(self) -> dict[Any, Any]:
        targets = {to: to for to in self.targets}
        return await self.machine.rig.client.router.call_many(targets, self._build, self._read, self.deadline)

    def _build(self, link, keys):
        self.sent = int(link.address.host.removeprefix("broker-")), self.net.now()
        request = self.api.request(keys)
        return request, link.version(type(request))

    def _read(self, response, keys):
        codes = {to: ErrorCode.of(code) for to, code in self.api.codes(response, keys).items()}
        assert set(codes) == set(keys)
        assert not codes.keys() & self.settled.keys(), "asked again after a final answer"
        return {to: self._read_one(to, code) for to, code in codes.items()}

    def _read_one(self, to, code):
        now = self.net.now()
        if code not in NO_ERRORS:
            if isinstance(to, Coordinator) and code.refresh_coordinator:
                if to in self.misled:
                    assert self.machine.was_looked_up(to, self.misled[to] - IN_TRANSIT / 2), f"{to} was not forgotten"
                self.misled[to] = now
            if not code.retriable:
                self.settled[to] = now, code
            return broker_error(code, f"{self.api.name} of {to}")
        self.settled[to] = now, code
        self._check_broker(to, now)
        return code

    def _check_broker(self, to: Any, now: float) -> None:
        """A broker that was right when it answered has answered."""
        if self.sent is not None:
            broker, since = self.sent
            assert broker in self.machine.right(to, since, now)
        answered = self.machine.rig.journal.requests(self.api.name)
        served = [each for each in answered if self.started <= each.time <= now and each.response_time is not None]
        assert any(each.broker in self.machine.right(to, each.time, each.time) for each in served)

    def _check(self, to: Any, result: Any) -> None:
        if not isinstance(result, KafkaError):
            assert self.settled[to][1] is result
        elif result.retriable:
            assert to not in self.settled
            assert self.net.now() >= self.deadline, f"{result!r} before the deadline"
        elif to in self.settled:
            assert isinstance(result, BrokerError)
            assert result.error is self.settled[to][1]
        else:
            assert isinstance(result, BrokerError)
            since = self.started if self.plan.many else self.net.now() - IN_TRANSIT
            assert self.machine.was_refused(to, result.error, since)


class RouterMachine(RuleBasedStateMachine):
    """Disturbances are set for a moment soon; calls then run, several at once, to their ends."""

    @initialize(version=st.sampled_from([None, "2.8"]))
    def start(self, version: str | None) -> None:
        self.rig = Simulated(len(BROKERS), 2, version=version, request_timeout_ms=1_000)
        self.cluster = self.rig.cluster
        self.cluster.create_topic("u", 2, TOPICS["u"])
        self.history: list[tuple[float, dict[Any, set[int]]]] = []
        """Since when which brokers are right for each target."""
        self._note()

    # ---- disturbances

    @rule(to=st.sampled_from(LEADERS), broker=st.sampled_from([NO_LEADER, *BROKERS]), soon=SOON)
    def a_leader_moves(self, to, broker, soon):
        self._at(soon, lambda: self._move_leader(to, broker))

    @rule(to=st.sampled_from(GROUPS), broker=st.sampled_from([NO_LEADER, *BROKERS]), soon=SOON)
    def a_coordinator_moves(self, to, broker, soon):
        self._at(soon, lambda: self._move_coordinator(to, broker))

    @rule(broker=st.sampled_from(BROKERS), soon=SOON, away=SOON)
    def a_broker_goes_away_and_comes_back(self, broker, soon, away):
        self._at(soon, lambda: self.rig.server.stop_broker(broker))
        self._at(soon + away, lambda: self.rig.server.start_broker(broker))

    @rule(topic=st.sampled_from(list(TOPICS)), soon=SOON)
    def a_topic_gains_a_partition(self, topic, soon):
        self._at(soon, lambda: self._add_partition(self.cluster.topic(topic)))

    @rule(api=st.one_of(ASKED, st.just("Metadata")), times=TIMES)
    def brokers_are_silent(self, api, times):
        self.rig.faults.drop(api, times=times)

    @rule(api=st.one_of(ASKED, st.just("Metadata")), times=TIMES)
    def brokers_disconnect(self, api, times):
        self.rig.faults.disconnect(api, times=times)

    @rule(plans=PLANS)
    def calls_end_as_they_should(self, plans):
        self._run(plans)

    @rule(plans=PLANS, api=ASKED, code=st.one_of(st.sampled_from(RETRIABLE), st.sampled_from(FATAL)), times=TIMES)
    def refused_calls_end_as_they_should(self, plans, api, code, times):
        self.rig.faults.fail(api, code, times=times)
        self._run(plans)

    @rule(plans=PLANS, to=st.sampled_from(GROUPS), broker=st.sampled_from(BROKERS))
    def calls_of_what_has_moved_end_as_they_should(self, plans, to, broker):
        self._run([Plan([to], True, 0.0, 8.0)])
        self._at(0.0, lambda: self._move_coordinator(to, broker))
        self._run([Plan([to], True, 0.1, 8.0), *plans])

    def teardown(self):
        """Every call succeeds once nothing is wrong any more, and nothing is left running."""
        if not hasattr(self, "history"):
            return
        self._run([Plan([AnyBroker()], True, 10.0, 0.0)])  # what was set for later happens
        self.rig.faults.clear()
        for partition in (each for topic in self.cluster.topics.values() for each in topic.partitions):
            if partition.leader == NO_LEADER:
                self.cluster.move_leader(partition.topic.name, partition.index, 1)
        self._note()
        plans = [Plan([to], many, 0.0, 60.0) for kind in KINDS for to in kind for many in (False, True) if self._exists(to)]
        for call in self._run(plans):
            (to,) = call.targets
            assert to in call.settled
        client = self.rig.client
        assert not any(client.links.progress(node, CONTROL) for node in (*BROKERS, *client.metadata.bootstrap))
        client.close()

    def _run(self, plans: list[Plan]) -> list[Observed]:
        """Make calls at once, and run all flows to their ends: the simulation is stuck if one does not end."""
        calls = [Observed(self, plan) for plan in (self._possible(plan) for plan in plans) if plan.targets]

        async def main():
            return [self.rig.net.spawn(call.run()) for call in calls]

        for task in self.rig.net.run(main()):
            if task.error is not None:
                raise task.error
        return calls

    def _possible(self, plan: Plan) -> Plan:
        return Plan([to for to in plan.targets if self._exists(to)], plan.many, plan.pause, plan.seconds)

    # ---- the cluster as it is

    def right(self, to: Any, since: float, until: float) -> set[int]:
        """Brokers that were right for a target at some time of a span."""
        ends = [when for when, _ in self.history[1:]] + [float("inf")]
        during = [state for (begin, state), end in zip(self.history, ends, strict=True) if begin <= until and since <= end]
        return {broker for state in during for broker in state.get(to, ())}

    def was_looked_up(self, to: Coordinator, since: float) -> bool:
        return any(each.time >= since for each in self.rig.journal.requests("FindCoordinator", group=to.key))

    def was_refused(self, to: Coordinator, code: ErrorCode, since: float) -> bool:
        answers = [
            each for each in self.rig.journal.requests("FindCoordinator", group=to.key) if each.time >= since and each.response
        ]
        found = [one for each in answers for one in each.response.coordinators or [each.response]]
        return any(one.error_code == code for one in found)

    def _at(self, soon: float, change: Callable[[], object]) -> None:
        def happen() -> None:
            change()
            self._note()

        self.rig.net.at(self.rig.net.now() + soon, happen)

    def _note(self) -> None:
        online = {broker.id for broker in self.cluster.brokers.online()}
        controller = self.cluster.brokers.controller
        state: dict[Any, set[int]] = {OneBroker(broker): {broker} for broker in BROKERS}
        state[AnyBroker()] = online
        state[Controller()] = online if self.cluster.profile.kraft else {controller.id} if controller is not None else set()
        state |= {to: {self.cluster.partition(*to.partition).leader} for to in LEADERS if self._exists(to)}
        state |= {to: {self.cluster.coordinating_partition(to.key).leader} for to in GROUPS}
        self.history.append((self.rig.net.now(), state))

    def _exists(self, to: Any) -> bool:
        return not isinstance(to, Leader) or to.partition.partition < len(self.cluster.topic(to.partition.topic).partitions)

    def _move_leader(self, to: Leader, broker: int) -> None:
        if self._exists(to) and self._may_lead(broker):
            self.cluster.move_leader(*to.partition, broker)

    def _move_coordinator(self, to: Coordinator, broker: int) -> None:
        if self._may_lead(broker):
            self.cluster.move_coordinator(to.key, broker)

    def _may_lead(self, broker: int) -> bool:
        return broker == NO_LEADER or self.cluster.brokers[broker].online

    def _add_partition(self, topic: Any) -> None:
        count = len(topic.partitions) + 1
        if count <= MOST_PARTITIONS and len(self.cluster.brokers.online()) == len(BROKERS):
            self.cluster.add_partitions(topic, count)


TestRouter = RouterMachine.TestCase
TestRouter.settings = settings(
    max_examples=120,
    stateful_step_count=12,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to make an example shorter takes minutes
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
