"""The scenarios, as data: who sends and reads how much, with which options, and what befalls them while they do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kafkawire.core.cluster.broker_link import LONGEST_THROTTLE
from kafkawire.errors import ErrorCode
from mockbroker.observe.fault_kinds import Delay, Disconnect, Drop, Fail, Throttle
from mockbroker.profiles import LATEST
from tests.sim import disturbances as d
from tests.sim.answers import BadAnswer, Garble, Lie, Repeat
from tests.sim.disturbances import Disturbance
from tests.sim.links import Faults

__all__ = ["SCENARIOS", "Scenario"]

SMOOTH = Faults(delay=0.02)
ROUGH = Faults(delay=0.02, cut=0.02, silence=0.004, refuse=0.05)
LATE = Faults(delay=0.02, late=0.1, lateness=0.5, cut=0.01)

CODES = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.KAFKA_STORAGE_ERROR,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One scenario. While the storm lasts, links, disturbances and answers are as bad as it says; then all is well again."""

    links: Faults = ROUGH
    disturbances: tuple[Disturbance, ...] = ()
    answers: tuple[BadAnswer, ...] = ()
    storm: float = 8.0
    """Duration in virtual seconds; producers send during most of it."""
    recovery: float = 60.0
    """Seconds after it within which everything is written and read."""
    producers: int = 2
    consumers: int = 1
    records: int = 50
    """Number of records of each producer."""
    partitions: int = 3
    replicas: int = 3
    producer_options: Mapping[str, Any] = field(default_factory=dict)
    consumer_options: Mapping[str, Any] = field(default_factory=dict)
    repeats: bool = False
    """True if records may be written twice: without idempotence, or when some are given up."""
    gives_up: bool = False
    """True if records may expire."""
    hurry: float = 0.0
    """The probability, wherever another thread could come in, that the next piece arrives at that moment."""
    versions: tuple[str, ...] = (LATEST,)
    """Versions of Kafka; the brokers have one of them."""
    prompt: bool = False
    """True if nothing is disturbed, so that nothing may take long."""


SCENARIOS: Mapping[str, Scenario] = {
    "nothing-wrong": Scenario(links=SMOOTH, hurry=0.1, prompt=True),
    "leaders-move": Scenario(hurry=0.02, disturbances=(Disturbance(d.move_leader, 1.0), Disturbance(d.restart_broker, 4.0))),
    "one-in-flight": Scenario(
        disturbances=(Disturbance(d.move_leader, 1.0), Disturbance(d.restart_broker, 4.0)),
        producer_options={"max_in_flight_requests_per_connection": 1},
    ),
    "late-answers": Scenario(
        links=LATE,
        disturbances=(Disturbance(d.move_leader, 0.5),),
        answers=(BadAnswer(Delay, 0.02, {"seconds": 1.0}), BadAnswer(Delay, 0.02, {"seconds": 7.0})),
        consumers=2,
    ),
    "repeated-answers": Scenario(links=SMOOTH, answers=(BadAnswer(Repeat, 0.05),)),
    "broker-lost": Scenario(disturbances=(Disturbance(d.lose_broker, 3.0), Disturbance(d.move_leader, 3.0)), storm=40),
    "only-replica-lost": Scenario(disturbances=(Disturbance(d.lose_broker, 3.0),), storm=40, replicas=1),
    "crash-unnoticed": Scenario(links=SMOOTH, disturbances=(Disturbance(d.crash_unnoticed, 3.0),), storm=30),
    "blackhole": Scenario(links=SMOOTH, disturbances=(Disturbance(d.blackhole, 3.0),), storm=30),
    "addresses-change": Scenario(
        links=SMOOTH, disturbances=(Disturbance(d.swap_brokers, 5.0), Disturbance(d.move_broker, 10.0)), storm=20
    ),
    "throttled": Scenario(
        links=SMOOTH,
        disturbances=(Disturbance(d.move_leader, 2.0),),
        answers=(BadAnswer(Throttle, 0.1, {"throttle_time_ms": 300}), BadAnswer(Lie, 0.01, {"throttle_time_ms": 4_000})),
        storm=15,
    ),
    "throttled-for-ever": Scenario(
        links=SMOOTH, answers=(BadAnswer(Lie, 0.01, {"throttle_time_ms": 2**31 - 1}),), recovery=60.0 + LONGEST_THROTTLE
    ),
    "refusals": Scenario(
        links=SMOOTH,
        answers=(
            *(BadAnswer(Fail, 0.02, {"error": code}, ("Produce", "Fetch", "ListOffsets")) for code in CODES),
            *(BadAnswer(kind, 0.01, {"when": when}) for when in ("before", "after") for kind in (Drop, Disconnect)),
        ),
        storm=15,
    ),
    "undecodable": Scenario(links=SMOOTH, answers=(BadAnswer(Garble, 0.05),)),
    "partitions-added": Scenario(
        links=SMOOTH,
        disturbances=(Disturbance(d.add_partition, 3.0), Disturbance(d.move_leader, 3.0)),
        consumer_options={"metadata_max_age_ms": 2_000},
        producer_options={"metadata_max_age_ms": 2_000},
    ),
    "wall-clock-jumps": Scenario(disturbances=(Disturbance(d.jump_wall_clock, 0.5),)),
    "without-idempotence": Scenario(
        disturbances=(Disturbance(d.move_leader, 1.0), Disturbance(d.restart_broker, 4.0)),
        producer_options={"enable_idempotence": False, "max_in_flight_requests_per_connection": 1},
        repeats=True,
    ),
    "old-brokers": Scenario(
        links=SMOOTH,  # whose first answers are lost is taken for one of the very old
        disturbances=(Disturbance(d.move_leader, 1.0), Disturbance(d.restart_broker, 4.0)),
        versions=("0.11.0", "1.1", "2.1", "2.4", "2.8", "3.1", "3.9", "4.0"),
    ),
    "very-old-brokers": Scenario(
        links=SMOOTH,
        disturbances=(Disturbance(d.move_leader, 1.0),),
        versions=("0.8.2", "0.9.0", "0.10.0", "0.10.2"),
        producer_options={"max_in_flight_requests_per_connection": 1},
        repeats=True,
    ),
    "records-expire": Scenario(
        disturbances=(Disturbance(d.lose_broker, 2.0),),
        storm=40,
        replicas=1,
        producer_options={"delivery_timeout_ms": 8_000},
        repeats=True,
        gives_up=True,
    ),
    "topic-recreated": Scenario(
        links=SMOOTH,
        disturbances=(Disturbance(d.recreate_topic, 4.0), Disturbance(d.move_leader, 2.0)),
        consumers=2,
        consumer_options={"metadata_max_age_ms": 2_000},
    ),
}
