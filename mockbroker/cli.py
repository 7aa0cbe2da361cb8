"""`python -m mockbroker`: runs a mock cluster for clients in any language, until SIGINT or SIGTERM."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import NoReturn

from kafkawire.addresses import parse_address
from kafkawire.errors import KafkaError
from mockbroker.json_values import parse_json
from mockbroker.mock import MockCluster
from mockbroker.profiles import LATEST

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code. Wrong arguments end the process with code 2, as in argparse."""
    parser = _parser()
    options = parser.parse_args(arguments)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    with ExitStack() as running:
        try:
            printed = _start(options, running)
        except (KafkaError, ValueError, OSError) as error:
            parser.error(str(error))
        print(printed, flush=True)
        stop.wait()
    return 0


def _start(options: argparse.Namespace, running: ExitStack) -> str:
    """Start the cluster and its control port; return the lines to print."""
    cluster = MockCluster(
        options.brokers,
        topics=dict(options.topic),
        version=options.version,
        port=options.port,
        port_step=options.port_step,
        first_broker_id=options.first_broker_id,
        reassignment_seconds=options.reassignment_seconds,
        host=options.host,
        advertised_host=options.advertised_host,
        racks=options.rack,
        config=dict(options.config),
        clock="held" if options.hold_clock else "running",
    )
    for path in options.load:
        cluster.load(path)
    for fault in options.fault:
        cluster.faults.make(fault)
    running.enter_context(cluster)
    if options.dump is not None:
        running.callback(cluster.dump, options.dump)
    printed = [f"bootstrap.servers={cluster.bootstrap}"]
    if options.http is not None:
        from mockbroker.control.http import ControlServer

        control = running.enter_context(ControlServer(cluster, *options.http))
        printed.append(f"control={control.url}")
    return "\n".join(printed)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        "mockbroker", description="A mock Kafka cluster in one process. Prints bootstrap.servers when it is ready."
    )
    add = parser.add_argument
    add("--brokers", type=int, default=3, metavar="N", help="number of brokers (3)")
    add("--topic", type=_topic, action="append", default=[], metavar="NAME:PARTITIONS", help="create a topic; repeatable")
    add("--version", default=LATEST, help=f"the Kafka version to imitate, from 0.8.2 on ({LATEST})")
    add("--port", type=int, default=0, help="port of the first broker; the others take the next ports; free ports if left out")
    add("--port-step", type=int, default=1, metavar="N", help="step from the port of one broker to that of the next (1)")
    add("--first-broker-id", type=int, default=1, metavar="ID", help="id of the first broker; the others have the next ids (1)")
    add("--host", default="127.0.0.1", help="address to listen on and to advertise (127.0.0.1)")
    add("--advertised-host", metavar="HOST", help="host that clients are told to connect to, if it is another")
    add("--rack", action="append", default=[], metavar="NAME", help="rack of the brokers, in turn; repeatable")
    add("--config", type=_config, action="append", default=[], metavar="NAME=VALUE", help="configure the brokers; repeatable")
    add(
        "--reassignment-seconds",
        type=float,
        default=0.0,
        metavar="S",
        help="seconds that partitions take to move to other replicas (0)",
    )
    add("--load", action="append", default=[], metavar="FILE", help="create topics and records from JSON lines; repeatable")
    add("--dump", metavar="FILE", help="write all topics and records as JSON lines on exit")
    add("--fault", type=_json, action="append", default=[], metavar="JSON", help="add a fault, as POST /faults; repeatable")
    add("--hold-clock", action="store_true", help="hold the time: only the control port advances it")
    add("--http", type=_address, metavar="[ADDRESS:]PORT", help="serve the control port (on 127.0.0.1); 0 for any free port")
    return parser


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Print the error in one line, for tests that start this process."""
        self.exit(2, f"{self.prog}: {message} (see --help)\n")


def _topic(text: str) -> tuple[str, int]:
    name, _, partitions = text.partition(":")
    try:
        return name, int(partitions or 1)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME:PARTITIONS") from None


def _config(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return name, value


def _json(text: str) -> dict[str, object]:
    try:
        found = parse_json(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise argparse.ArgumentTypeError(f"{text!r} is no JSON object")
    return found


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    try:
        return parse_address(text) if host else ("127.0.0.1", int(port))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no [ADDRESS:]PORT") from None
