"""Records the configurations that a real broker has, for the mock to describe: names, types, defaults and what may be changed.

`python -m tests.real.record_configs` asks a broker of the newest release and writes mockbroker/configs.json.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kafkawire import Connection
from kafkawire.protocol.messages.create_topics import CreateTopicsRequest
from kafkawire.protocol.messages.describe_configs import DescribeConfigsRequest
from tests.real.broker import RealKafka
from tests.real.releases import RELEASES

TARGET = Path(__file__).parents[2] / "mockbroker" / "configs.json"

TOPIC, BROKER = 2, 4
STATIC_DEFAULT = 5

# Without a default of their own these would not show which configurations of topics they are behind. Set to what those have.
SHOWN: dict[str, Any] = {
    "log_retention_ms": 604800000,
    "log_roll_ms": 604800000,
    "log_roll_jitter_ms": 0,
    "log_flush_interval_ms": 2**63 - 1,
}


def main() -> None:
    """Record and write."""
    release = next(iter(RELEASES))
    with RealKafka(release, **SHOWN) as broker, Connection(broker.bootstrap) as connection:
        asked = CreateTopicsRequest.CreatableTopic(name="recorded", num_partitions=1, replication_factor=1)
        connection.request(CreateTopicsRequest(topics=[asked]))
        topic = {config.name: [config.config_type, config.value, _synonym(config)] for config in _described(connection, TOPIC)}
        own = {
            config.name: [config.config_type, _default(config), config.read_only, config.is_sensitive]
            for config in _described(connection, BROKER)
        }
    blocks = [f'"release": {json.dumps(release)}', f'"topic": {_lines(topic)}', f'"broker": {_lines(own)}']
    TARGET.write_text("{\n" + ",\n".join(blocks) + "\n}\n")


def _described(connection: Connection, kind: int) -> list[Any]:
    resource = DescribeConfigsRequest.Resource(
        resource_type=kind, resource_name="recorded" if kind == TOPIC else "1", configuration_keys=None
    )
    asked = DescribeConfigsRequest(resources=[resource], include_synonyms=True)
    (result,) = connection.request(asked, broker=1).results
    if result.error_code:
        raise RuntimeError(f"the broker does not describe its configurations: error {result.error_code}")
    return sorted(result.configs, key=lambda config: str(config.name))


def _default(config: Any) -> str | None:
    """What it would be if nobody had set it."""
    own = (synonym.value for synonym in config.synonyms if (synonym.name, synonym.source) == (config.name, STATIC_DEFAULT))
    return next(own, None)


def _synonym(config: Any) -> str | None:
    """The broker configuration that a topic without its own takes the value from."""
    return next((synonym.name for synonym in config.synonyms), None)


def _lines(configs: dict[str, list[Any]]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(facts)}" for name, facts in configs.items()) + "\n}"


if __name__ == "__main__":
    main()
