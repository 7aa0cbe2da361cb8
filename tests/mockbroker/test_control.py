"""The control port, as any HTTP client sees it."""

from __future__ import annotations

import http.client
import json
import random
import re
import socket
import threading
from base64 import b64encode
from typing import Any
from urllib.parse import quote

import pytest

from kafkawire.errors import ErrorCode
from kafkawire.protocol.formats.consumer_protocol import ConsumerProtocolAssignment
from kafkawire.protocol.formats.versioned import encode_versioned
from kafkawire.protocol.messages.metadata import MetadataRequest
from mockbroker import MockCluster
from mockbroker.control.http import ControlServer
from mockbroker.control.table import RESOURCES
from mockbroker.profiles import LATEST
from tests.mockbroker.groups import join, sync
from tests.mockbroker.raw import TIMEOUT, TcpClient, batch, fetch_request, produce_request, produced

OK, BAD, FORBIDDEN, MISSING, NOT_ALLOWED, CONFLICT = 200, 400, 403, 404, 405, 409


class Control:
    """A client of the control port."""

    def __init__(self, url):
        self.host, _, port = url.removeprefix("http://").rpartition(":")
        self.port = int(port)

    def ask(self, method, path, body=None, headers=None):
        """The status and what the answer says."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)
        try:
            text = body if body is None or isinstance(body, str) else json.dumps(body)
            connection.request(method, path, text, headers or {})
            answer = connection.getresponse()
            content = answer.read().decode()
            if answer.headers["Content-Type"] == "application/x-ndjson":
                return answer.status, [json.loads(line) for line in content.splitlines()]
            return answer.status, json.loads(content)
        finally:
            connection.close()

    def get(self, path):
        status, found = self.ask("GET", path)
        assert status == OK, found
        return found

    def post(self, path, body=None):
        status, found = self.ask("POST", path, body)
        assert status == OK, found
        return found


@pytest.fixture
def mock():
    with MockCluster(2, topics={"t": 2}) as cluster:
        yield cluster


@pytest.fixture
def control(mock):
    with ControlServer(mock) as server:
        yield Control(server.url)


def test_it_lists_what_it_has(mock, control):
    found = control.get("/")
    assert found["bootstrap.servers"] == mock.bootstrap
    assert found["version"] == LATEST
    assert "POST /faults" in found["resources"]
    assert all(found["resources"].values())


def test_topics(mock, control):
    made = control.post("/topics", {"name": "new", "partitions": 3, "configs": {"max.message.bytes": "1000"}})
    assert made["configs"] == {"max.message.bytes": "1000"}
    assert [partition["leader"] for partition in made["partitions"]] == [1, 2, 1]
    assert [topic["name"] for topic in control.get("/topics")] == ["t", "new"]
    moved = control.post("/topics/new/leader", {"partition": 0, "broker": 2})
    assert moved["partitions"][0]["leader"] == mock.leader("new", 0) == 2
    control.post("/topics/new/leader", {"partition": 0, "broker": None})
    assert mock.leader("new", 0) is None
    assert control.ask("DELETE", "/topics/new") == (OK, {})
    assert control.ask("GET", "/topics/new")[0] == MISSING
    status, found = control.ask("POST", "/topics", {"name": "t"})
    assert (status, "already exists" in found["error"]) == (BAD, True)


def test_messages(mock, control):
    binary = {"base64": b64encode(b"\xff").decode()}
    places = control.post("/topics/t/messages", [{"value": "v", "key": "k", "partition": 1}, {"value": binary, "timestamp": 5}])
    assert places == [{"partition": 1, "offset": 0}, {"partition": 0, "offset": 0}]
    control.post("/topics/t/messages", {"value": None, "headers": [["h", "1"]], "partition": 1})
    first, second, third = control.get("/topics/t/messages")
    assert (first["value"], first["timestamp"]) == (binary, 5)
    assert (second["key"], second["value"], third["value"], third["headers"]) == ("k", "v", None, [["h", "1"]])
    assert control.get("/topics/t/messages?partition=1") == [second, third]
    assert mock.messages("t", 0)[0].value == b"\xff"
    lines = control.get("/dump")
    assert lines == [{"topic": "t", "partitions": 2, "configs": {}}, first, second, third]
    text = "".join(json.dumps({**line, "topic": "copy"}) + "\n" for line in lines)
    assert control.post("/load", text) == {"records": 3}
    assert [m.value for m in mock.messages("copy")] == [b"\xff", b"v", None]


def test_brokers(mock, control):
    first = mock.brokers[1].address
    assert control.get("/brokers")[0] == {"id": 1, "address": first, "advertised": first, "online": True}
    assert control.post("/brokers/1/stop")["online"] is False
    assert not mock.brokers[1].online
    assert control.post("/brokers/1/start")["online"] is True
    with TcpClient(mock.brokers[1]) as client:
        assert control.post("/brokers/1/restart")["online"] is True
        assert client.read() == b""
    assert control.ask("POST", "/brokers/9/stop") == (MISSING, {"error": "there is no broker 9, only [1, 2]"})


def test_brokers_come_go_and_take_over(mock, control):
    assert control.post("/brokers")["id"] == 3
    moved = control.post("/topics/t/replicas", {"partition": 0, "brokers": [3]})
    assert (moved["partitions"][0]["leader"], mock.leader("t", 0)) == (3, 3)
    told = control.post("/brokers/3/advertise", {"host": "proxy", "port": 1})
    assert (told["address"], told["advertised"]) == (mock.brokers[3].address, "proxy:1")
    assert control.ask("DELETE", "/brokers/3") == (OK, {})
    assert [one["id"] for one in control.get("/brokers")] == [1, 2]
    assert control.ask("DELETE", "/brokers/3")[0] == MISSING
    control.ask("DELETE", "/brokers/2")
    status, found = control.ask("DELETE", "/brokers/1")
    assert (status, "last one" in found["error"]) == (BAD, True)


def test_groups(mock, control):
    assert control.get("/groups") == []
    positions = [{"topic": "t", "partition": 1, "offset": 2}, {"topic": "t", "offset": 0}]
    control.post("/topics/t/messages", [{"value": "v", "partition": 1}] * 5)
    made = control.post("/groups/a%2Fb/offsets", positions)
    assert control.get("/groups/a%2Fb") == made
    assert (made["group"], made["state"], made["members"]) == ("a/b", "Empty", [])
    assert [(one["partition"], one["offset"], one["lag"]) for one in made["offsets"]] == [(1, 2, 3), (0, 0, 0)]
    assert mock.committed("a/b", "t", 1) == 2
    other = 3 - made["coordinator"]
    assert control.post("/groups/a%2Fb/coordinator", {"broker": other}) == {"group": "a/b", "coordinator": other}
    assert control.get("/groups")[0]["coordinator"] == mock.coordinator("a/b") == other
    assert control.ask("DELETE", "/groups/a%2Fb") == (OK, {})
    assert mock.committed("a/b", "t", 1) is None
    for method in ("GET", "DELETE"):
        assert control.ask(method, "/groups/a%2Fb")[0] == MISSING


def test_members_of_groups(mock, control):
    coordinator = mock.brokers[mock.coordinator("g")]
    assigned = encode_versioned(
        ConsumerProtocolAssignment(
            assigned_partitions=[ConsumerProtocolAssignment.TopicPartition(topic="t", partitions=[0, 1])], user_data=None
        ),
        3,
    )
    with TcpClient(coordinator) as client:
        member = client.call(join(instance="i"), 5).member_id
        client.call(sync("g", member, 1, {member: assigned}, instance="i"), 5)
        found = control.get("/groups/g")
        assert (found["state"], found["protocolType"], found["protocol"]) == ("Stable", "consumer", "range")
        (one,) = found["members"]
        assert (one["memberId"], one["instanceId"], one["clientId"], one["assignment"]) == (member, "i", "raw", {"t": [0, 1]})
        for path, body in (("/groups/g", None), ("/groups/g/offsets", {"topic": "t", "offset": 1})):
            status, answer = control.ask("DELETE" if body is None else "POST", path, body)
            assert (status, "group" in answer["error"]) == (BAD, True)
        assert mock.committed("g", "t", 0) is None


def test_faults(mock, control):
    made = control.post(
        "/faults", {"action": "fail", "api": "Produce", "error": "NOT_LEADER_OR_FOLLOWER", "topic": "t", "times": 1}
    )
    assert control.ask("POST", "/faults/check")[0] == CONFLICT
    with TcpClient(mock.brokers[1]) as client:
        answers = [produced(client.call(produce_request(batch(b"v")), 9)).error_code for _ in range(2)]
    assert answers == [ErrorCode.NOT_LEADER_OR_FOLLOWER, 0]
    found = control.get(f"/faults/{made['id']}?count=1&timeout=5")
    assert (found["fired"], found["active"], found["topic"]) == (1, False, "t")
    control.post("/faults/check")
    assert control.get("/faults") == [found]
    status, answer = control.ask("GET", "/faults/1?count=2&timeout=0.01")
    assert (status, "fired 1 of 2 times" in answer["error"]) == (CONFLICT, True)
    assert control.ask("DELETE", "/faults") == (OK, {})
    assert control.get("/faults") == []
    assert control.ask("GET", "/faults/1")[0] == MISSING


def test_barriers(mock, control):
    held = control.post("/faults", {"action": "hold", "api": "Metadata"})["id"]
    clients = [TcpClient(mock.brokers[1]) for _ in range(3)]
    pendings = [client.send(MetadataRequest(topics=[]), 12) for client in clients]
    found = control.get(f"/faults/{held}?count=3")
    assert {one["connection"] for one in found["held"]} == {1, 2, 3}
    first = found["held"][0]["connection"] - 1
    control.post(f"/faults/{held}/release", {"count": 1})
    while not pendings[first].done:
        clients[first].take(clients[first].read())
    assert len(control.get(f"/faults/{held}")["held"]) == 2
    control.post(f"/faults/{held}/release")
    for client, pending in zip(clients, pendings, strict=True):
        while not pending.done:
            client.take(client.read())
        client.socket.close()
    other = control.post("/faults", {"action": "drop"})["id"]
    assert control.ask("POST", f"/faults/{other}/release")[0] == BAD
    assert control.ask("DELETE", f"/faults/{other}")[1]["active"] is False


def test_the_journal(mock, control):
    with TcpClient(mock.brokers[1]) as client:
        client.call(MetadataRequest(topics=None), 12, client_id="me")
        waiting = threading.Thread(target=lambda: client.call(fetch_request(), 12))
        waiting.start()
        (fetch,) = control.get("/journal?api=Fetch&topic=t&partition=0&count=1&timeout=5")
        waiting.join()
    assert fetch["request"]["topics"][0]["topic"] == "t"
    (metadata,) = control.get("/journal?client_id=me&version=12")
    assert metadata["response"]["topics"][0]["name"] == "t"
    assert control.ask("GET", "/journal?api=Produce&count=1&timeout=0.01")[0] == CONFLICT
    assert control.ask("DELETE", "/journal") == (OK, {})
    assert control.get("/journal") == []


def test_the_clock(mock, control):
    held = control.post("/clock/hold")
    assert held["held"] is True
    assert control.post("/clock/advance", {"seconds": 60})["time"] == pytest.approx(held["time"] + 60)
    assert control.get("/clock") == control.get("/clock")
    assert control.post("/clock/release")["held"] is False


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "reason"),
    [
        ("GET", "/nothing", None, MISSING, "GET / lists"),
        ("DELETE", "/clock", None, NOT_ALLOWED, "takes GET, not DELETE"),
        ("PUT", "/topics", None, 501, "PUT"),
        ("POST", "/topics", "{", BAD, "no JSON"),
        ("POST", "/topics", [1], BAD, "has to be an object"),
        ("POST", "/topics", {}, BAD, "'name' is missing"),
        ("POST", "/topics", {"name": "u", "partitions": "2"}, BAD, "'partitions' is '2'"),
        ("POST", "/topics/t/replicas", {"partition": 0, "brokers": ["1"]}, BAD, "has to be a whole number"),
        ("POST", "/topics/t/replicas", {"partition": 0, "brokers": [9]}, BAD, "no such broker"),
        ("POST", "/brokers/1/advertise", {"host": "proxy"}, BAD, "'port' is missing"),
        ("POST", "/topics/u/messages", {"value": "v"}, MISSING, "no topic 'u'"),
        ("POST", "/topics/t/messages", None, BAD, "is no record"),
        ("POST", "/topics/t/messages", {"value": "v", "partition": 7}, MISSING, "partitions 0 to 1"),
        ("GET", "/topics/t/messages?partition=x", None, BAD, "'partition' is 'x'"),
        ("POST", "/faults", {"action": "explode"}, BAD, "one of fail"),
        ("POST", "/load", "nonsense", BAD, "line 1"),
        ("GET", "/journal?api=Fech", None, BAD, "no API 'Fech'"),
        ("GET", "/journal?broker=one", None, BAD, "'broker' is 'one'"),
        ("GET", "/journal?topics=t", None, BAD, "'topics'"),
        ("GET", "/groups/nobody", None, MISSING, "no group 'nobody'"),
        ("POST", "/groups/g/offsets", {"topic": "t"}, BAD, "'offset' is missing"),
        ("POST", "/groups/g/offsets", [3], BAD, "has to be an object"),
        ("POST", "/groups/g/offsets", {"topic": "u", "offset": 1}, MISSING, "no topic 'u'"),
        ("POST", "/groups/g/coordinator", {"broker": 9}, BAD, "no broker 9"),
        ("POST", "/clock/advance", {"seconds": -1}, BAD, "cannot go back"),
        ("POST", "/clock/advance", None, BAD, "'seconds' is missing"),
        ("POST", "/clock/advance", '{"seconds": NaN}', BAD, "NaN is no number in JSON"),
        ("POST", "/clock/advance", '{"seconds": 1e400}', BAD, "'seconds' is inf"),
        ("POST", "/clock/advance", '{"seconds": 1e30}', BAD, "'seconds' is 1e+30"),
        ("POST", "/faults", '{"action": "delay", "seconds": -Infinity}', BAD, "-Infinity is no number"),
        ("POST", "/faults", '{"action": "delay", "seconds": 1e30}', BAD, "'seconds' is 1e+30"),
        ("POST", "/faults", {"action": "split", "size": 0}, BAD, "'size' is 0"),
        ("POST", "/faults", {"action": "drop", "probability": 1.5}, BAD, "'probability' is 1.5; it has to be from 0 to 1"),
        ("POST", "/faults", {"action": "drop", "api": {"Fetch": 1}}, BAD, "'api' is"),
        ("POST", "/faults", {"action": "drop", "api": [3]}, BAD, "'api' is [3]"),
        ("POST", "/faults", {"action": "corrupt", "api": "Produce"}, BAD, "applies to Fetch only"),
        ("GET", "/journal?count=1&timeout=nan", None, BAD, "'timeout' is 'nan'"),
        ("GET", "/journal?count=1&timeout=inf", None, BAD, "'timeout' is 'inf'"),
        ("GET", "/journal?count=nan", None, BAD, "'count' is 'nan'"),
        ("GET", "/topics/t/messages?partition=1e400", None, BAD, "'partition' is '1e400'"),
        ("POST", "/topics", {"name": "big", "partitions": 10**9}, BAD, "100000 at most"),
        ("POST", "/topics", {"name": "big", "partitions": 10**99}, BAD, "'partitions' is 1000"),
        ("POST", "/topics", {"name": "u", "configs": {"name": "x"}}, BAD, "Unknown topic config name: name"),
        ("POST", "/topics", {"name": "u", "configs": {"retention.ms": None}}, BAD, "'retention.ms' is None"),
        ("POST", "/load", '{"topic": "big", "value": "v", "partition": 1000000000}', BAD, "100000 at most"),
        ("POST", "/load", '{"topic": "u", "value": "\\ud800"}', BAD, "line 1: it has half a character, \\ud800"),
        ("POST", "/load", "[" * 100_000, BAD, "line 1: it is nested too deeply"),
        ("POST", "/topics", '{"name": "\\udfff"}', BAD, "half a character, \\udfff"),
        ("POST", "/topics/t/messages", '{"value": "\\ud800"}', BAD, "half a character, \\ud800"),
        ("POST", "/topics/t/messages", {"value": "v", "timestamp": 2**63}, BAD, "'timestamp' is 9223372036854775808"),
        ("POST", "/topics/t/messages", '{"a":' * 100_000, BAD, "nested too deeply"),
        ("POST", "/brokers/1/advertise", {"host": "proxy", "port": 99999}, BAD, "99999"),
        ("POST", "/groups/g/offsets", {"topic": "t", "offset": -5}, BAD, "-5"),
    ],
)
def test_what_cannot_be_done_is_said_as_json(control, method, path, body, status, reason):
    answer = control.ask(method, path, body)
    assert (answer[0], reason in answer[1]["error"]) == (status, True), answer


def test_web_pages_of_others_are_refused(mock, control):
    own = f"127.0.0.1:{control.port}"
    for host in (own, f"localhost:{control.port}", f"[::1]:{control.port}"):
        assert control.ask("GET", "/clock", headers={"Host": host, "Origin": f"http://{host}"})[0] == OK
    for headers in (
        {"Host": f"rebound.example:{control.port}"},
        {"Host": f"rebound.example:{control.port}", "Origin": f"http://rebound.example:{control.port}"},
        {"Host": own, "Origin": "http://page.example"},
        {"Host": own, "Origin": "null"},
        {"Host": own, "Origin": f"https://{own}"},
    ):
        assert control.ask("POST", "/brokers/1/stop", headers=headers)[0] == FORBIDDEN
    assert mock.brokers[1].online


def test_clients_that_stall_or_talk_nonsense_block_nobody(control):
    with (
        socket.create_connection((control.host, control.port), TIMEOUT) as silent,
        socket.create_connection((control.host, control.port), TIMEOUT) as rude,
    ):
        silent.sendall(b"POST /topics HTTP/1.1\r\nContent-Length: 1000\r\n\r\n{")
        rude.sendall(b"\x00\x01 nonsense\r\n\r\n")
        assert control.get("/clock")["held"] is False
        assert json.loads(rude.recv(10_000).partition(b"\r\n\r\n")[2] or b'{"error": ""}')
    for length in ("-1", "many", "999999999999"):
        status, found = control.ask("POST", "/topics", "", {"Content-Length": length})
        assert (status, "Content-Length" in found["error"]) == (413, True)


def test_it_listens_on_loopback_only_and_closes(mock):
    with ControlServer(mock) as server:
        assert server.url.startswith("http://127.0.0.1:")
        control = Control(server.url)
        with pytest.raises(OSError, match="in use"):
            ControlServer(mock, port=control.port)
    with pytest.raises(ConnectionRefusedError):
        control.ask("GET", "/")


VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1, 2, 0.5, 2**31, 2**63, 10**30, -(10**30), 1e30, "", "t", "g", "Fetch", "fail", "1", "x" * 300),
    *("\0", "\u2028", "a/b", [], [1], ["t"], {}, {"a": 1}, {"value": "v"}),
)
FIELDS = (
    *("name", "partitions", "replicationFactor", "configs", "partition", "broker", "brokers", "host", "port", "value", "key"),
    *(
        "timestamp",
        "headers",
        "topic",
        "offset",
        "action",
        "api",
        "error",
        "seconds",
        "when",
        "throttle_time_ms",
        "after_bytes",
    ),
    *("size", "pause", "by", "at", "times", "nth", "probability", "seed", "client_id", "count"),
)
TEXTS = ("", "null", "{", "[" * 50_000, '"\\ud800"', '{"name": "\\ud83d"}', "NaN", '{"seconds": Infinity}', "\xff", "9" * 5_000)
QUERIES = (
    "",
    "?count=nan&timeout=0",
    "?partition=9e99",
    "?topic=%ff",
    "?api=",
    "?timeout=-1&count=1",
    "?version=1.5",
    "?%00=%00",
)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_asked_the_answer_is_json_and_the_connection_stays(mock, control, seed):
    dice = random.Random(seed)
    names = {
        "topic": ("t", "u", "%ed%a0%80", "a%2Fb"),
        "group": ("g", "%00"),
        "id": ("1", "2", "9", "x", "-1", "1e9", "\u0661"),
    }
    connection = http.client.HTTPConnection(control.host, control.port, timeout=TIMEOUT)
    connection.connect()
    kept = connection.sock
    for _ in range(400):
        resource = dice.choice(RESOURCES)
        path = re.sub(r"\{([^}]*)\}", lambda found: dice.choice(names.get(found[1], found[1].split("|"))), resource.path)
        body = {dice.choice(FIELDS): dice.choice(VALUES) for _ in range(dice.randrange(5))}
        text = dice.choice(TEXTS) if dice.random() < 0.2 else json.dumps(dice.choice((body, [body])))
        connection.request(resource.method, quote(path, safe="/%") + dice.choice(QUERIES), text.encode("latin-1"))
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status in (OK, BAD, MISSING, CONFLICT), (resource.method, path, text, content)
        if answer.headers["Content-Type"] == "application/json":
            json.loads(content)
        assert connection.sock is kept
    connection.close()
    assert set(control.get("/clock")) == {"time", "held"}
