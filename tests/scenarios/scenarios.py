"""The scenarios that every client goes through: what it is asked, as data. What it must see, real Kafka says.

A step is one call of a client's adapter; the methods of `adapters/run_confluent.py` show what each call takes and answers.
Topics, groups and members are named anew for each client and scenario.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["EITHER", "OWNERS_STEPS", "SCENARIOS", "Scenario", "Step"]

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

NOON = 1_760_000_000_000
"""A time in milliseconds for records that have one of their own."""

OWNERS_STEPS = frozenset({"restart_broker", "move_leader"})

EITHER = -1000
"""In place of an error's code: with or without an error, it is only compared."""


@dataclass(frozen=True, slots=True)
class Step:
    """A call, and how it ends if not with an answer that is only compared."""

    do: str
    """A method of the adapter, or of the cluster's owner (`OWNERS_STEPS`, and topics where the client cannot make them)."""
    fields: dict[str, Any]
    error: int | None = None
    """Kafka's code of the error that it must end with."""
    answer: Any = None
    """Answer that the step must have, if stated. The step is repeated until then: a cluster takes a moment to agree."""


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    steps: tuple[Step, ...]
    features: frozenset[str] = frozenset()
    """Features that a client needs beside the calls."""
    brokers: int = 1

    @property
    def needs(self) -> frozenset[str]:
        """Calls and features."""
        return self.features | {step.do for step in self.steps} - OWNERS_STEPS - {"create_topic"}


def do(call: str, /, *, error: int | None = None, answer: Any = None, **fields: Any) -> Step:
    return Step(call, fields, error, answer)


def scenario(name: str, *steps: Step, needs: tuple[str, ...] = (), brokers: int = 1) -> Scenario:
    return Scenario(name, steps, frozenset(needs), brokers)


def rows(count: int, start: int = 0, width: int = 20) -> list[Any]:
    """Records [key, value, timestamp, headers]."""
    return [[f"key {n}", f"value {n}".ljust(width, "."), NOON + n, []] for n in range(start, start + count)]


def produced(count: int, start: int = 0, partition: int = 0) -> list[list[int]]:
    return [[partition, offset] for offset in range(start, start + count)]


def whole_topic(count: int, partition: int = 0, topic: str = "t") -> Step:
    return do("consume", topic=topic, partition=partition, offset="earliest", count=count)


ODD_ROWS: list[Any] = [
    [None, "no key", NOON, []],
    ["no value", None, NOON + 1, []],
    ["", "", NOON + 2, []],
    ["ключ", "значение", NOON - 5, []],
    ["large", "x" * 500_000, NOON + 3, []],
]

HEADERS = [["key", "value", NOON, [["a", "1"], ["b", ""], ["a", "2"]]], ["key", "value", NOON + 1, [["ä", "ö"]]]]


def codec(name: str) -> Scenario:
    return scenario(
        f"codec {name}",
        do("create_topic", topic="t"),
        do("produce", topic="t", partition=0, records=rows(300, width=100), codec=name, answer=produced(300)),
        do("produce", topic="t", partition=0, records=rows(10, 300), codec=name, answer=produced(10, 300)),
        whole_topic(310),
        do("consume", topic="t", partition=0, offset=155, count=7),
        needs=(name,),
    )


def two_members(name: str, *needs: str, **options: Any) -> Scenario:
    return scenario(
        name,
        do("create_topic", topic="t", partitions=4),
        *(do("produce", topic="t", partition=n, records=rows(5, 5 * n), answer=produced(5, 0, n)) for n in range(4)),
        do("join", member="a", group="g", topics=["t"], **options),
        do("settle", members=["a"], partitions=4),
        do("received", members=["a"], count=20),
        do("commit_position", member="a"),
        do("join", member="b", group="g", topics=["t"], **options),
        do("settle", members=["a", "b"], partitions=4),
        do("leave", member="a"),
        do("settle", members=["b"], partitions=4),
        *(do("produce", topic="t", partition=n, records=rows(2, 20 + 2 * n), answer=produced(2, 5, n)) for n in range(4)),
        do("received", members=["b"], count=8),
        do("commit_position", member="b"),
        do("leave", member="b"),
        do("committed", group="g", topic="t", partitions=[0, 1, 2, 3]),
        needs=needs,
    )


GROUP_ADMIN = scenario(
    "groups described, listed, deleted",
    do("create_topic", topic="t", partitions=2),
    do("describe_group", group="none", error=EITHER),  # Java's client makes an error of it, others a dead group
    do("delete_group", group="none", error=69),
    do("join", member="a", group="g", topics=["t"]),
    do("settle", members=["a"], partitions=2),
    do("describe_group", group="g"),
    do("list_groups", prefix=""),
    do("delete_group", group="g", error=68),
    do("leave", member="a"),
    do("commit", group="g", topic="t", offsets=[[0, 3, "noted"], [1, 4, ""]]),
    do("describe_group", group="g"),
    do("list_groups", prefix=""),
    do("delete_group", group="g"),
    do("list_groups", prefix="", answer=[]),
    do("committed", group="g", topic="t", partitions=[0, 1], answer=[[0, None, None], [1, None, None]]),
)

TIMES = scenario(
    "offsets by time",
    do("create_topic", topic="t", partitions=2),
    do("watermarks", topic="t", partition=0, answer=[0, 0]),
    do("produce", topic="t", partition=0, records=rows(10), answer=produced(10)),
    do("watermarks", topic="t", partition=0, answer=[0, 10]),
    do("offset_for_time", topic="t", partition=0, timestamp=0, answer=0),
    do("offset_for_time", topic="t", partition=0, timestamp=NOON + 4, answer=4),
    do("offset_for_time", topic="t", partition=0, timestamp=NOON + 1000),
    do("offset_for_time", topic="t", partition=1, timestamp=NOON),
)

COMMITS = scenario(
    "committed offsets",
    do("create_topic", topic="t", partitions=2),
    do("committed", group="g", topic="t", partitions=[0, 1], answer=[[0, None, None], [1, None, None]]),
    do("commit", group="g", topic="t", offsets=[[0, 7, "noted"]]),
    do("committed", group="g", topic="t", partitions=[0, 1], answer=[[0, 7, "noted"], [1, None, None]]),
    do("commit", group="g", topic="t", offsets=[[0, 3, ""], [1, 0, "ж"]]),
    do("committed", group="g", topic="t", partitions=[0, 1], answer=[[0, 3, ""], [1, 0, "ж"]]),
    needs=("offset metadata",),
)

RESUME = scenario(
    "a member begins at what was committed",
    do("create_topic", topic="t", partitions=2),
    do("produce", topic="t", partition=0, records=rows(10), answer=produced(10)),
    do("produce", topic="t", partition=1, records=rows(5), answer=produced(5, 0, 1)),
    do("commit", group="g", topic="t", offsets=[[0, 3, "noted"]]),
    do("join", member="a", group="g", topics=["t"]),
    do("received", members=["a"], count=12),
    do("commit_position", member="a"),
    do("leave", member="a"),
    do("committed", group="g", topic="t", partitions=[0, 1]),
)

DELETE_OFFSETS = scenario(
    "offsets deleted",
    do("create_topic", topic="t", partitions=2),
    do("commit", group="g", topic="t", offsets=[[0, 3, ""], [1, 4, ""]]),
    do("delete_offsets", group="g", topic="t", partitions=[0]),
    do("committed", group="g", topic="t", partitions=[0, 1], answer=[[0, None, None], [1, 4, ""]]),
)

TOPICS = scenario(
    "topics",
    do("create_topic", topic="t", partitions=3, configs={"max.message.bytes": "2000"}),
    do("describe_topic", topic="t"),
    do("create_topic", topic="t", error=36),
    do("create_topic", topic="u", partitions=0, error=37),
    do("create_topic", topic="u", replication=2, error=38),
    do("create_topic", topic="u", configs={"no.such": "1"}, error=40),
    do("create_topic", topic="u", configs={"retention.ms": "soon"}, error=40),
    do("create_topic", topic="not/a/name", error=17),
    do("list_topics", prefix=""),
    do("create_partitions", topic="t", count=5),
    do("describe_topic", topic="t"),
    do("create_partitions", topic="t", count=5, error=37),
    do("create_partitions", topic="t", count=2, error=37),
    do("create_partitions", topic="none", count=2, error=3),
    do("produce", topic="t", partition=4, records=rows(2), answer=produced(2, 0, 4)),
    do("delete_topic", topic="t"),
    do("delete_topic", topic="t", error=3),
    do("create_topic", topic="t"),
    do("produce", topic="t", partition=0, records=rows(1), answer=produced(1)),
    whole_topic(1),
)

CONFIGS = scenario(
    "configs",
    do("create_topic", topic="t", configs={"cleanup.policy": "compact,delete", "min.insync.replicas": "1"}),
    do("describe_configs", kind="topic", name="t"),
    do(
        "describe_configs",
        kind="broker",
        name="1",
        names=[
            "message.max.bytes",
            "num.partitions",
            "auto.create.topics.enable",
            "default.replication.factor",
            "log.retention.ms",
        ],
    ),
)

ALTERED = ["retention.ms", "cleanup.policy", "max.message.bytes", "segment.bytes"]

ALTER_CONFIGS = scenario(
    "configs altered",
    do("create_topic", topic="t", configs={"retention.ms": "1000"}),
    do("alter_configs", topic="t", changes=[["cleanup.policy", "APPEND", "compact"], ["max.message.bytes", "SET", "5000"]]),
    do("describe_configs", kind="topic", name="t", names=ALTERED),
    do("alter_configs", topic="t", changes=[["retention.ms", "DELETE", None], ["cleanup.policy", "SUBTRACT", "delete"]]),
    do("describe_configs", kind="topic", name="t", names=ALTERED),
    do("alter_configs", topic="t", changes=[["no.such", "SET", "1"]], error=40),
    do("alter_configs", topic="t", changes=[["segment.bytes", "SET", "many"]], error=40),
    do("alter_configs", topic="none", changes=[["retention.ms", "SET", "5"]], error=3),
    do("describe_configs", kind="topic", name="t", names=ALTERED),
)

REPLACE_CONFIGS = scenario(
    "configs replaced",
    do("create_topic", topic="t", configs={"retention.ms": "1000"}),
    do("replace_configs", topic="t", configs={"max.message.bytes": "5000"}),
    do("describe_configs", kind="topic", name="t", names=ALTERED),
)

DELETE_RECORDS = scenario(
    "records deleted",
    do("create_topic", topic="t"),
    do("produce", topic="t", partition=0, records=rows(10), answer=produced(10)),
    do("delete_records", topic="t", partition=0, before=4, answer=4),
    do("watermarks", topic="t", partition=0, answer=[4, 10]),
    do("consume", topic="t", partition=0, offset=4, count=6),
    do("consume", topic="t", partition=0, offset=1, count=6, reset="earliest"),
    do("delete_records", topic="t", partition=0, before=11, error=1),
    do("delete_records", topic="t", partition=0, before=-1, answer=10),
    do("watermarks", topic="t", partition=0, answer=[10, 10]),
    do("produce", topic="t", partition=0, records=rows(1), answer=produced(1, 10)),
)

RESTART = scenario(
    "broker restart",
    do("create_topic", topic="t", partitions=2),
    do("produce", topic="t", partition=0, records=rows(10), answer=produced(10)),
    do("join", member="a", group="g", topics=["t"]),
    do("received", members=["a"], count=10),
    do("commit_position", member="a"),  # so that nothing is read twice, should the member have to join anew
    do("restart_broker"),
    do("produce", topic="t", partition=0, records=rows(10, 10), answer=produced(10, 10)),
    do("received", members=["a"], count=20),
    do("settle", members=["a"], partitions=2),
    do("commit_position", member="a"),
    do("leave", member="a"),
    do("committed", group="g", topic="t", partitions=[0, 1]),
    whole_topic(20),
)

LEADER_MOVE = scenario(
    "leader move",
    do("create_topic", topic="t", replication=2),
    do("produce", topic="t", partition=0, records=rows(10), answer=produced(10)),
    do("join", member="a", group="g", topics=["t"]),
    do("received", members=["a"], count=10),
    do("move_leader", topic="t", partition=0),
    do("produce", topic="t", partition=0, records=rows(10, 10), answer=produced(10, 10)),
    do("received", members=["a"], count=20),
    do("commit_position", member="a"),
    do("leave", member="a"),
    do("committed", group="g", topic="t", partitions=[0]),
    whole_topic(20),
    brokers=2,
)

SCENARIOS = (
    *map(codec, CODECS),
    scenario(
        "odd records",
        do("create_topic", topic="t"),
        do("produce", topic="t", partition=0, records=ODD_ROWS, answer=produced(5)),
        whole_topic(5),
    ),
    scenario(
        "headers",
        do("create_topic", topic="t"),
        do("produce", topic="t", partition=0, records=HEADERS, answer=produced(2)),
        whole_topic(2),
        needs=("record headers",),
    ),
    scenario(
        "idempotence",
        do("create_topic", topic="t", partitions=2),
        do("produce", topic="t", partition=0, records=rows(100), idempotent=True, answer=produced(100)),
        do("produce", topic="t", partition=1, records=rows(50), idempotent=True, answer=produced(50, 0, 1)),
        do("produce", topic="t", partition=0, records=rows(10, 100), idempotent=True, answer=produced(10, 100)),
        whole_topic(110),
        whole_topic(50, 1),
        needs=("idempotent",),
    ),
    scenario(
        "keys choose partitions",
        do("create_topic", topic="t", partitions=3),
        do("produce", topic="t", records=rows(30)),
    ),
    scenario(
        "acknowledgements",
        do("create_topic", topic="t"),
        do("produce", topic="t", partition=0, records=rows(3), acks=1, answer=produced(3)),
        do("produce", topic="t", partition=0, records=rows(3, 3), acks=0),
        whole_topic(6),
    ),
    scenario(
        "a topic that is made when it is asked for",
        do("produce", topic="t", partition=0, records=rows(3), answer=produced(3)),
        whole_topic(3),
        needs=("auto-creation",),
    ),
    scenario(
        "the broker's own time",
        do("create_topic", topic="t", configs={"message.timestamp.type": "LogAppendTime"}),
        do("produce", topic="t", partition=0, records=rows(3), answer=produced(3)),
        whole_topic(3),
        needs=("timestamps",),
    ),
    scenario(
        "too large",
        do("create_topic", topic="t", configs={"max.message.bytes": "1000"}),
        do("produce", topic="t", partition=0, records=[["large", "x" * 2000, NOON, []]], error=10),
        do("produce", topic="t", partition=0, records=rows(1), answer=produced(1)),
        whole_topic(1),
    ),
    scenario(
        "out of range",
        do("create_topic", topic="t"),
        do("produce", topic="t", partition=0, records=rows(5), answer=produced(5)),
        do("consume", topic="t", partition=0, offset=100, count=5, reset="earliest"),
    ),
    TIMES,
    COMMITS,
    RESUME,
    DELETE_OFFSETS,
    scenario(
        "greatest timestamp",
        do("create_topic", topic="t"),
        do("max_timestamp", topic="t", partition=0),
        do("produce", topic="t", partition=0, records=ODD_ROWS[:4], answer=produced(4)),
        do("max_timestamp", topic="t", partition=0, answer=[2, NOON + 2]),
    ),
    two_members("two members"),
    two_members("two members, round robin", "roundrobin", assignor="roundrobin"),
    two_members("two members, cooperative", "cooperative", assignor="cooperative-sticky"),
    scenario(
        "static members",
        do("create_topic", topic="t", partitions=4),
        do("join", member="a", group="g", topics=["t"], instance="first"),
        do("join", member="b", group="g", topics=["t"], instance="second"),
        do("settle", members=["a", "b"], partitions=4),
        do("describe_group", group="g"),
        do("leave", member="b"),  # without a word: a static member comes back
        do("join", member="b", group="g", topics=["t"], instance="second"),
        do("settle", members=["a", "b"], partitions=4),
        do("describe_group", group="g"),
        do("leave", member="a"),
        do("leave", member="b"),
        needs=("static",),
    ),
    GROUP_ADMIN,
    TOPICS,
    scenario("a topic that is not there", do("describe_topic", topic="none", error=3), needs=("looking makes no topic",)),
    scenario(
        "describe cluster",
        do("describe_cluster"),
    ),
    CONFIGS,
    scenario(
        "configs of no topic", do("describe_configs", kind="topic", name="none", error=3), needs=("errors of describe_configs",)
    ),
    ALTER_CONFIGS,
    REPLACE_CONFIGS,
    DELETE_RECORDS,
    RESTART,
    LEADER_MOVE,
)
