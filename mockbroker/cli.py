"""`python -m mockbroker`: a mock cluster for clients in any language, until SIGINT or SIGTERM."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Sequence
from contextlib import closing

from kafkawire.errors import KafkaError
from mockbroker.mock import MockCluster
from mockbroker.profiles import LATEST

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code. Ends the process with code 2 on wrong arguments, as argparse does."""
    parser = _parser()
    options = parser.parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        cluster = MockCluster(
            options.brokers, topics=dict(options.topic), version=options.version, port=options.port, host=options.host
        ).start()
    except (KafkaError, ValueError, OSError) as error:
        parser.error(str(error))
    with closing(cluster):
        print(f"bootstrap.servers={cluster.bootstrap}", flush=True)
        stop.wait()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "mockbroker", description="A mock Kafka cluster in one process. Prints bootstrap.servers when it is ready."
    )
    parser.add_argument("--brokers", type=int, default=3, metavar="N", help="how many brokers (3)")
    parser.add_argument(
        "--topic", type=_topic, action="append", default=[], metavar="NAME:PARTITIONS", help="create a topic; repeatable"
    )
    parser.add_argument("--version", default=LATEST, help=f"the Kafka version to imitate, from 0.8.2 on ({LATEST})")
    parser.add_argument(
        "--port", type=int, default=0, help="of the first broker, the others take the next ones; free ports without"
    )
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on and to advertise (127.0.0.1)")
    return parser


def _topic(text: str) -> tuple[str, int]:
    name, _, partitions = text.partition(":")
    return name, int(partitions or 1)
