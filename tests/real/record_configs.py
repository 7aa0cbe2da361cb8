"""Records the configurations that topics and brokers of each release have, for the mock to describe and to check.

`python -m tests.real.record_configs` goes through all releases and writes mockbroker/configs/configs.json; given releases
(`python -m tests.real.record_configs 4.3.1`), it replaces what is known of those only, which is all that a new release takes.

Names, values and what may be changed come from DescribeConfigs of a running broker, which there is since 0.11. What that does
not tell (types before 2.6, defaults and synonyms before 1.1, which values are valid) and the releases before come from the
pages that the jars print for Kafka's documentation. 0.8.2 prints none: the mock takes the oldest that there is.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from kafkawire import Connection
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from kafkawire.protocol.messages.describe_configs import DescribeConfigsRequest
from mockbroker.configs.definitions import ConfigType, Source
from tests.real.broker import LOG4J, RealKafka
from tests.real.jvm import run_java
from tests.real.record_profiles import data_file
from tests.real.releases import RELEASES, jars

__all__ = ["record", "recorded"]

TARGET = Path(__file__).parents[2] / "mockbroker" / "configs" / "configs.json"

TOPIC, BROKER = 2, 4

# Without a default of their own these would not show which configurations of topics they are behind. Set to what those have.
SHOWN: dict[str, Any] = {
    "log_retention_ms": 604800000,
    "log_roll_ms": 604800000,
    "log_roll_jitter_ms": 0,
    "log_flush_interval_ms": 2**63 - 1,
}

THROTTLED = ("follower.replication.throttled.replicas", "leader.replication.throttled.replicas")

DESCRIBED_SINCE = (0, 11)
SYNONYMS_SINCE = (1, 1)
PRINTED_SINCE = (0, 9)
LOG_CONFIG_MOVED = (3, 5)
FIRST_WITH_SYNONYMS = "0.10.1.1"
"""First release whose page names the broker configurations behind those of topics."""

Facts = list[Any]
"""Facts about one configuration in one release, in the order of the fields of `ConfigDefinition`."""


class Printed(NamedTuple):
    """One configuration on the page of a release."""

    type: ConfigType
    default: str | None
    valid: str
    synonym: str | None


def record(release: str) -> dict[str, dict[str, Facts]]:
    """Configurations of a release, of topics and of brokers, by name."""
    moved = _number(release) >= LOG_CONFIG_MOVED
    topic_page = _printed(release, "org.apache.kafka.storage.internals.log.LogConfig" if moved else "kafka.log.LogConfig")
    broker_page = _printed(release, "kafka.server.KafkaConfig")
    if _number(release) < DESCRIBED_SINCE:
        named = topic_page | _printed(FIRST_WITH_SYNONYMS, "kafka.log.LogConfig")
        return {
            "topic": {name: _topic_facts(one._replace(synonym=named[name].synonym)) for name, one in topic_page.items()},
            "broker": {name: _broker_facts(one) for name, one in broker_page.items()},
        }
    synonyms = _number(release) >= SYNONYMS_SINCE
    with RealKafka(release, **SHOWN) as broker, Connection(broker.bootstrap) as connection:
        asked = CreateTopicsRequest.CreatableTopic(name="recorded", num_partitions=1, replication_factor=1)
        connection.request(CreateTopicsRequest(topics=[asked]))
        return {
            "topic": {
                one.name: _topic_facts(topic_page.get(one.name), one)
                for one in _described(connection, TOPIC, synonyms=synonyms)
            },
            "broker": {
                one.name: _broker_facts(broker_page.get(one.name), one)
                for one in _described(connection, BROKER, synonyms=synonyms)
            },
        }


# Of each form of the pages, what a configuration looks like in it: its name, then its properties.
FORMS = (
    (r'<h4><a id="([^"]*)".*?<tbody>(.*?)</tbody>', r"<th>(.*?):</th><td>(.*?)</td>"),
    (r'<li><b>([^<]*)</b>: .*?<ul class="horizontal-list">(.*?)</ul></li>', r"<li><b>(.*?)</b>: (.*?)</li>"),
)


def _printed(release: str, main: str) -> dict[str, Printed]:
    """The page that a main class prints."""
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "log4j.properties").write_text(LOG4J)
        page = run_java(main, jars=jars(RELEASES[release]), cwd=Path(directory))
    found = {
        name: dict(re.findall(properties, rows))
        for configuration, properties in FORMS
        for name, rows in re.findall(configuration, page, re.DOTALL)
    } or _table(page)
    return {name: _as_printed({key: html.unescape(text) for key, text in row.items()}) for name, row in found.items()}


def _table(page: str) -> dict[str, dict[str, str]]:
    """The oldest form: a table with a row for each configuration."""
    _, *headings = re.findall(r"<th>(.*?)</th>", page)
    found = {}
    for row in re.findall(r"<tr>\n<td>(.*?)</td></tr>", page, re.DOTALL):
        name, *cells = re.split(r"(?:</td>)+<td>", row.removesuffix("</td>"))
        found[name] = dict(zip(headings, cells, strict=True))
    return found


def _as_printed(row: dict[str, str]) -> Printed:
    kind, default = ConfigType[row["Type"].upper()], row["Default"]
    if kind in (ConfigType.INT, ConfigType.LONG, ConfigType.SHORT):
        default = default.partition(" (")[0]  # behind it: the same for people to read
    valid, synonym = row["Valid Values"], row.get("Server Default Property")
    if "@" in valid or valid.startswith("[0.8.0,"):  # a Java object that is not meant to be read; the releases up to this one
        valid = ""
    return Printed(kind, None if default == "null" else default.strip('"'), valid, None if synonym == "null" else synonym)


def _topic_facts(printed: Printed | None, described: Any = None) -> Facts:
    """described: the answer of a broker, if there was one to ask."""
    kind, default, valid, synonym = printed or Printed(ConfigType.STRING, None, "", None)
    if described is not None:
        kind, default = described.config_type or kind, described.value
        synonym = next((one.name for one in described.synonyms), synonym)
    # The throttled replicas print their own name there, but no broker has such a configuration.
    return [kind, default, None if synonym in THROTTLED else synonym, valid]


def _broker_facts(printed: Printed | None, described: Any = None) -> Facts:
    kind, default, valid, _ = printed or Printed(ConfigType.STRING, None, "", None)
    if described is None:
        return [kind, default, None, valid, True, kind is ConfigType.PASSWORD]
    if described.is_default:  # v0, which has no sources
        default = described.value
    elif described.synonyms:
        own = (one.value for one in described.synonyms if (one.name, one.source) == (described.name, Source.DEFAULT))
        default = next(own, None)
    return [described.config_type or kind, default, None, valid, described.read_only, described.is_sensitive]


def _described(connection: Connection, kind: int, *, synonyms: bool) -> list[Any]:
    resource = DescribeConfigsRequest.Resource(
        resource_type=kind, resource_name="recorded" if kind == TOPIC else "1", configuration_keys=None
    )
    asked = DescribeConfigsRequest(resources=[resource], include_synonyms=synonyms)
    (result,) = connection.request(asked, broker=1).results
    if result.error_code:
        raise RuntimeError(f"the broker does not describe its configurations: error {result.error_code}")
    return list(result.configs)


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


# The file has a line for each configuration, with the versions in which something of it changed: {"0.9.0": facts, "4.3": null}.
# Null is for one that is not there any more.


def recorded() -> dict[str, dict[str, dict[str, Facts]]]:
    """Content of the file for every version, in full."""
    if not TARGET.exists():
        return {}
    kept = json.loads(TARGET.read_text())
    found = {}
    for version in sorted(kept["releases"], key=_number):
        known = [one for one in sorted(kept["releases"], key=_number) if _number(one) <= _number(version)]
        kinds: dict[str, dict[str, Facts]] = {}
        for kind in ("topic", "broker"):
            latest = {
                name: next((changes[one] for one in reversed(known) if one in changes), None)
                for name, changes in kept[kind].items()
            }
            kinds[kind] = {name: facts for name, facts in latest.items() if facts is not None}
        found[version] = kinds
    return found


def _write_all(releases: dict[str, str], found: dict[str, dict[str, dict[str, Facts]]]) -> None:
    versions = sorted(found, key=_number)
    blocks = [f'"releases": {json.dumps({version: releases[version] for version in versions})}']
    for kind in ("topic", "broker"):
        names = sorted({name for version in versions for name in found[version][kind]})
        lines = [f"{json.dumps(name)}: {json.dumps(_changes(versions, kind, name, found))}" for name in names]
        blocks.append(f'"{kind}": {{\n' + ",\n".join(lines) + "\n}")
    TARGET.write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def _changes(versions: list[str], kind: str, name: str, found: dict[str, dict[str, dict[str, Facts]]]) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    before = None
    for version in versions:
        facts = found[version][kind].get(name)
        if facts != before:
            changes[version] = facts
        before = facts
    return changes


def main() -> None:
    """Record and write."""
    printing = [release for release in RELEASES if _number(release) >= PRINTED_SINCE]
    parser = argparse.ArgumentParser(prog="python -m tests.real.record_configs", description=__doc__)
    # argparse holds the empty list against the choices too.
    parser.add_argument("releases", nargs="*", choices=[[], *printing], metavar="RELEASE", help="such as 4.3.1; all if none")
    for release in parser.parse_args().releases or printing:
        facts = record(release)
        found = recorded() | {data_file(release).stem: facts}
        _write_all({data_file(one).stem: one for one in printing}, found)
        print(f"{release}: {len(facts['topic'])} of topics, {len(facts['broker'])} of brokers", flush=True)


if __name__ == "__main__":
    main()
