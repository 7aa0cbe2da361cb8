"""Each row of "To add ..." in ARCHITECTURE.md is enough: a copy of the packages gets one more of each kind, and uses it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]


class Edit(NamedTuple):
    """Text that is added to a file before a line of it, or that makes a new file if no line is given."""

    file: str
    text: str
    before: str = ""


class Extension(NamedTuple):
    """Something new: the edits that add it, and a script that fails unless it works."""

    edits: tuple[Edit, ...]
    script: str


EXTENSIONS = {
    "an API": Extension(
        (
            Edit("kafkawire/protocol/messages/__init__.py", '    "Toy": 30000,\n', '    "UnregisterController": 94,\n'),
            Edit(
                "kafkawire/protocol/messages/toy.py",
                """
from kafkawire.protocol.schema import Request, Response, field
from kafkawire.protocol.wire import Int16, String


class ToyRequest(Request, key=30000, versions="0-1", flexible="1+"):
    name: String = field()


class ToyResponse(Response, key=30000, versions="0-1", flexible="1+"):
    error_code: Int16 = field()
""",
            ),
        ),
        """
from kafkawire import protocol
request = protocol.request("Toy")(name="bear")
assert protocol.decode(type(request), 1, protocol.encode(request, 1)) == request
""",
    ),
    "an option": Extension(
        (
            Edit(
                "kafkawire/config/options.py",
                '    toy_ms: Annotated[int, Option(5, minimum=1)]\n    """Time in milliseconds to play."""\n',
                "    transactional_id: Annotated[str | None, Option(None, choices=(None,), hint=",
            ),
        ),
        """
import contextlib, pydoc
from kafkawire import Producer, aio, errors
with Producer(toy_ms=7) as producer:
    assert producer.options["toy_ms"] == 7
with Producer.from_properties({"toy.ms": "8"}) as producer:
    assert producer.options["toy_ms"] == 8
for client in (Producer, aio.Producer):
    assert "Time in milliseconds to play." in pydoc.render_doc(client, renderer=pydoc.plaintext)
try:
    Producer(toy_ms=0)
except errors.ConfigurationError as error:
    assert "Time in milliseconds to play." in str(error)
else:
    raise AssertionError
""",
    ),
    "a codec": Extension(
        (
            Edit(
                "kafkawire/protocol/codecs/toy.py",
                """
def compress(data, level, magic):
    return bytes(data)[::-1]


def decompress(data, limit, magic):
    return bytes(data)[::-1]
""",
            ),
            Edit(
                "kafkawire/protocol/compression.py",
                "from kafkawire.protocol.codecs import toy\n",
                "from kafkawire.protocol.codecs import gzip, ",
            ),
            Edit(
                "kafkawire/protocol/compression.py",
                '    TOY = 5, CodecFormat(toy.compress, toy.decompress, "python")\n',
                "    ZSTD = (\n",
            ),
        ),
        """
from kafkawire import Consumer, Producer
from mockbroker import MockCluster
with MockCluster(1, topics={"t": 1}) as kafka:
    with Producer(bootstrap_servers=kafka.bootstrap, compression_type="toy") as producer:
        producer.send_many("t", [b"1", b"2"])
    assert len(kafka.messages("t")) == 2
    with Consumer("t", bootstrap_servers=kafka.bootstrap, auto_offset_reset="earliest", stop_at_end=True) as consumer:
        assert [message.value for message in consumer] == [b"1", b"2"]
""",
    ),
    "a partitioner": Extension(
        (
            Edit(
                "kafkawire/core/produce/partitioners.py",
                "def by_length(key: bytes, partitions: int) -> int:\n    return len(key) % partitions\n\n\n",
                "_NAMED: dict[str, KeyPartitioner] = ",
            ),
            Edit("kafkawire/core/produce/partitioners.py", '_NAMED["length"] = by_length\n', "def key_partitioner("),
        ),
        """
from kafkawire import Producer
from mockbroker import MockCluster
with MockCluster(1, topics={"t": 5}) as kafka:
    with Producer(bootstrap_servers=kafka.bootstrap, partitioner="length") as producer:
        assert [producer.send("t", b"v", key).result(30).partition for key in (b"", b"abc")] == [0, 3]
""",
    ),
    "a mock handler": Extension(
        (
            Edit(
                "mockbroker/broker/handlers/unregister_broker.py",
                """
from kafkawire.protocol.messages.unregister_broker import UnregisterBrokerResponse


def handle(context, request, now):
    return UnregisterBrokerResponse(error_message=f"broker {request.broker_id} stays")
""",
            ),
        ),
        """
from kafkawire import Connection, protocol
from mockbroker import MockCluster
with MockCluster(1) as kafka, Connection(kafka.bootstrap) as connection:
    response = connection.request(protocol.request("UnregisterBroker")(broker_id=1))
    assert response.error_message == "broker 1 stays"
""",
    ),
    "a fault": Extension(
        (
            Edit(
                "mockbroker/observe/fault_kinds.py",
                '''class Rename(Fault, name="rename"):
    """Answer Metadata with another cluster id.

    cluster_id: the id.
    """

    def __init__(self, api: Api, cluster_id: str, **rule: Unpack[Rule]) -> None:
        super().__init__(api, **rule)
        self.cluster_id = cluster_id

    def change_response(self, response: Response) -> None:
        response.cluster_id = self.cluster_id


''',
                "def _damaged_batch(",
            ),
            Edit("mockbroker/observe/fault_kinds.py", "    rename = _method(Rename)\n", "    split = _method(Split)\n"),
        ),
        """
from kafkawire import Connection, protocol
from mockbroker import MockCluster
with MockCluster(1) as kafka, Connection(kafka.bootstrap) as connection:
    asked = protocol.request("Metadata")(topics=[])
    with kafka.rename("Metadata", "by Python"):
        assert connection.request(asked).cluster_id == "by Python"
    kafka.faults.make({"action": "rename", "api": "Metadata", "cluster_id": "by JSON", "times": 1})
    assert connection.request(asked).cluster_id == "by JSON"
    kafka.check_faults()
    try:
        kafka.rename("Metadata", 5)
    except TypeError as error:
        assert "'cluster_id' is 5" in str(error)
    else:
        raise AssertionError
""",
    ),
    "a CLI command": Extension(
        (
            Edit(
                "kafkawire/cli/toy.py",
                """
import click


@click.command("toy")
def command():
    print("playing")
""",
            ),
            Edit("kafkawire/cli/commands.py", '    "toy": "Play.",\n', '    "topics": '),
        ),
        """
from click.testing import CliRunner
from kafkawire.cli.app import app
assert "Play." in CliRunner().invoke(app, ["--help"]).output
assert CliRunner().invoke(app, ["toy"]).output == "playing\\n"
""",
    ),
    "an admin operation": Extension(
        (
            Edit(
                "kafkawire/connection.py",
                """    def delete_topic(self, topic, *, timeout=None):
        from kafkawire.core.cluster.router import Controller
        from kafkawire.protocol.messages.delete_topics import DeleteTopicsRequest

        request = DeleteTopicsRequest(topic_names=[topic], topics=[DeleteTopicsRequest.DeleteTopicState(name=topic)])
        return run(self.client.router.call(request, Controller(), self.deadline(timeout)))

""",
                "    def request(self, message: Request, *, broker: int | None = None,",
            ),
        ),
        """
from kafkawire import Connection, protocol
from mockbroker import MockCluster
with MockCluster(3, topics={"t": 1}) as kafka, Connection(kafka.bootstrap) as connection:
    kafka.disconnect("DeleteTopics", when="before", times=1)
    connection.delete_topic("t")
    assert connection.topics() == []
    assert len(kafka.journal.requests("DeleteTopics")) == 2
""",
    ),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The packages as they are, to be extended."""
    copied = tmp_path_factory.mktemp("packages")
    for package in ("kafkawire", "mockbroker"):
        shutil.copytree(ROOT / package, copied / package, ignore=shutil.ignore_patterns("__pycache__"))
    return copied


def extend(copy, edits):
    for edit in edits:
        file = copy / edit.file
        if not edit.before:
            assert not file.exists()
            file.write_text("from __future__ import annotations\n" * ("messages" not in edit.file) + edit.text)
            continue
        text = file.read_text()
        assert text.count(edit.before) == 1, f"{edit.file}: {edit.before!r}"
        file.write_text(text.replace(edit.before, edit.text + edit.before))


def test_every_row_of_the_table_is_tried_with_the_files_that_it_names():
    section = (ROOT / "ARCHITECTURE.md").read_text().partition("## To add")[2].partition("\n## ")[0]
    table = re.findall(r"^\| (an? .+?) \| (.+?) \|", section, re.MULTILINE)
    rows = {what: re.findall(r"`(\w+/[\w/.]+)`", edit) for what, edit in table}
    assert rows.keys() == EXTENSIONS.keys()
    for what, extension in EXTENSIONS.items():
        assert all(edit.file.startswith(tuple(rows[what])) for edit in extension.edits), what


@pytest.mark.parametrize("name", EXTENSIONS)
def test_what_the_table_names_is_all_that_is_edited(copy, name):
    extension = EXTENSIONS[name]
    extend(copy, extension.edits)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", extension.script],
        cwd=copy,
        env=os.environ | {"PYTHONPATH": str(copy)},
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
