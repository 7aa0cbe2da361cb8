"""Records what a real broker of each release serves: the data files of the mock broker's version profiles.

`python -m tests.real.record_profiles` starts one release after another and writes a file for each; given releases, those only.
Brokers since 0.10 are asked with ApiVersions. Older ones have no such request and do not look at versions much, so each API is
tried version by version, up to the first that is not answered in the form of that version.
"""

from __future__ import annotations

import argparse
import json
import socket
import struct
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mockbroker.profiles
from kafkawire import protocol
from kafkawire.errors import DecodeError, ErrorCode
from kafkawire.protocol.frames import encode_frame
from kafkawire.protocol.messages import API_KEYS
from kafkawire.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkawire.protocol.messages.fetch import FetchRequest
from kafkawire.protocol.messages.list_offsets import ListOffsetsRequest
from kafkawire.protocol.messages.metadata import MetadataRequest
from kafkawire.protocol.messages.offset_commit import OffsetCommitRequest
from kafkawire.protocol.messages.offset_fetch import OffsetFetchRequest
from kafkawire.protocol.messages.produce import ProduceRequest
from tests.real.broker import RealKafka
from tests.real.releases import RELEASES

if TYPE_CHECKING:
    from kafkawire.protocol.schema import Request

__all__ = ["data_file", "record"]

Ranges = dict[int, tuple[int, int]]
"""API key -> the lowest and the highest version."""

SILENCE = 2.0
"""Seconds without an answer that count as none; brokers that answer do so within milliseconds."""

CORRELATION_ID, CLIENT_ID = 7, "record"
KNOWN_TOPIC, UNKNOWN_TOPIC = "known", "unknown"
UNKNOWN_API, UNKNOWN_VERSION = 999, 99
PRODUCE, METADATA, API_VERSIONS = (API_KEYS[name] for name in ("Produce", "Metadata", "ApiVersions"))

# What brokers say among themselves is not declared in kafkawire.protocol, but is listed all the same where clients connect.
BETWEEN_BROKERS = {
    4: "LeaderAndIsr",
    5: "StopReplica",
    6: "UpdateMetadata",
    7: "ControlledShutdown",
    56: "AlterPartition",
    58: "Envelope",
    67: "AllocateProducerIds",
    83: "InitializeShareGroupState",
    84: "ReadShareGroupState",
    85: "WriteShareGroupState",
    86: "DeleteShareGroupState",
    87: "ReadShareGroupStateSummary",
}
NAMES = {key: name for name, key in API_KEYS.items()} | BETWEEN_BROKERS

WITHOUT_TOPICS = (
    "Metadata",
    "FindCoordinator",
    "JoinGroup",
    "Heartbeat",
    "LeaveGroup",
    "SyncGroup",
    "DescribeGroups",
    "ListGroups",
)
"""The other APIs that a client of 0.9 may have used."""


class Silence(Enum):
    """Reactions of a broker other than a response."""

    CLOSES = "closes the connection"
    HANGS = "leaves the connection open and says nothing"


def record(bootstrap: str, release: str) -> dict[str, Any]:
    """Profile of a running broker, in the form of its file."""
    versions = _ask(bootstrap, ApiVersionsRequest(), 0)
    return {
        "release": release,
        "kraft": RELEASES[release].kraft,
        "hangs_on_unknown": _silence_on_unknown(bootstrap) is Silence.HANGS,
        "lists_itself_on_downgrade": _lists_itself_on_downgrade(bootstrap),
        **(_described(bootstrap) if isinstance(versions, bytes) else _tried(bootstrap)),
    }


def data_file(release: str) -> Path:
    """File of the profile for a release: 4.4.0 is recorded for all of 4.4."""
    return Path(mockbroker.profiles.__file__).with_name(f"{release.rpartition('.')[0]}.json")


def as_text(facts: dict[str, Any]) -> str:
    """JSON with a line for every fact and for every API, so that differences can be read."""
    lines = [f" {json.dumps(name)}: {json.dumps(fact)}" for name, fact in facts.items() if name != "apis"]
    apis = ",\n".join(f"  {json.dumps(row)}" for row in facts["apis"])
    return "{\n" + ",\n".join([*lines, f' "apis": [\n{apis}\n ]']) + "\n}\n"


def _described(bootstrap: str) -> dict[str, Any]:
    """ApiVersions response of the broker, in the newest version that both ends speak."""
    request = ApiVersionsRequest(client_software_name="kafkawire", client_software_version="1.0")
    ranges = _ranges(_answer(bootstrap, request, 0))
    newest = _answer(bootstrap, request, min(ranges[API_VERSIONS][1], ApiVersionsRequest.versions.max))
    supported = {feature.name: [feature.min_version, feature.max_version] for feature in newest.supported_features}
    finalized = {feature.name: [feature.min_version_level, feature.max_version_level] for feature in newest.finalized_features}
    return {
        "refused": _rows(_refused(bootstrap, *ranges[PRODUCE])),
        "supported_features": dict(sorted(supported.items())),
        "finalized_features": dict(sorted(finalized.items())),
        # A place in the metadata log: which one says nothing, only whether there is one.
        "finalized_features_epoch": min(newest.finalized_features_epoch, 0),
        "apis": _rows(_ranges(newest)),
    }


def _tried(bootstrap: str) -> dict[str, Any]:
    """APIs and versions that a broker without ApiVersions answers."""
    _create_topic(bootstrap, KNOWN_TOPIC)
    found = {type(request).key: _tried_range(bootstrap, request) for request in _trials()}
    apis = {key: (0, newest) for key, newest in sorted(found.items()) if newest is not None}
    return {
        "refused": [],
        "supported_features": {},
        "finalized_features": {},
        "finalized_features_epoch": -1,
        "apis": _rows(apis),
    }


def _tried_range(bootstrap: str, request: Request) -> int | None:
    """The newest version that is answered as such; None if the broker lacks the API.

    A version whose request and answer are those of the version before cannot be told from it, and does not count. 0.8 knows
    some APIs of 0.9 by name and answers them with UNKNOWN_SERVER_ERROR.
    """
    response_class = protocol.response(type(request).key)
    newest, seen = None, None
    for version in type(request).versions:
        answer = _ask(bootstrap, request, version)
        exchange = (protocol.encode(request, version), answer)
        if isinstance(answer, Silence) or exchange == seen:
            break
        try:
            response: Any = protocol.decode(response_class, version, answer)
        except DecodeError:
            break
        if getattr(response, "error_code", 0) == ErrorCode.UNKNOWN_SERVER_ERROR:
            break
        newest, seen = version, exchange
    return newest


def _create_topic(bootstrap: str, name: str) -> None:
    """By asking for it until it is there."""
    request = MetadataRequest(topics=[MetadataRequest.Topic(name=name)])
    while _answer(bootstrap, request, 0).topics[0].error_code != ErrorCode.NONE:
        pass


def _trials() -> list[Request]:
    """A request of every API that a client of 0.9 may have used.

    Where topics can be named there is one, to see the full form of the answer: an unknown one, since that is soon answered. But
    OffsetFetch v0 and v1 say the same of those.
    """
    produce, fetch, offsets = ProduceRequest.TopicProduceData, FetchRequest.Topic, ListOffsetsRequest.Topic
    commit, committed = OffsetCommitRequest.Topic, OffsetFetchRequest.Topic
    nothing = produce.PartitionProduceData(records=b"")
    return [
        ProduceRequest(acks=1, topic_data=[produce(name=UNKNOWN_TOPIC, partition_data=[nothing])]),
        FetchRequest(topics=[fetch(topic=UNKNOWN_TOPIC, partitions=[fetch.Partition()])]),
        ListOffsetsRequest(topics=[offsets(name=UNKNOWN_TOPIC, partitions=[offsets.Partition()])]),
        OffsetCommitRequest(topics=[commit(name=UNKNOWN_TOPIC, partitions=[commit.Partition()])]),
        OffsetFetchRequest(topics=[committed(name=KNOWN_TOPIC, partition_indexes=[0])]),
        *(protocol.request(name)() for name in WITHOUT_TOPICS),
    ]


def _silence_on_unknown(bootstrap: str) -> Silence:
    """Reaction to an unknown API and to an unknown version of a known one; one that the mock does not know is an error."""
    modern_form = b"\0\1\0\0\0"  # header tags, no topics, three flags: what no version before 9 can be
    met = {
        _exchange(bootstrap, _frame(UNKNOWN_API, 0, b"")),
        _exchange(bootstrap, _frame(METADATA, UNKNOWN_VERSION, modern_form)),
    }
    (silence,) = met
    assert isinstance(silence, Silence)
    return silence


def _lists_itself_on_downgrade(bootstrap: str) -> bool:
    """True if the response to an unknown version of ApiVersions has an entry for ApiVersions (KIP-511)."""
    answer = _exchange(bootstrap, _frame(API_VERSIONS, UNKNOWN_VERSION, b"\0\2x\2x\0"))
    if isinstance(answer, Silence):
        return False
    response = protocol.decode(ApiVersionsResponse, 0, answer)
    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert [api.api_key for api in response.api_keys] in ([], [API_VERSIONS])
    return bool(response.api_keys)


def _refused(bootstrap: str, lowest: int, highest: int) -> Ranges:
    """The versions of Produce that are advertised and end the connection all the same (KAFKA-18659)."""
    request = ProduceRequest(acks=-1, timeout_ms=1000)
    refused = [version for version in range(lowest, highest + 1) if isinstance(_ask(bootstrap, request, version), Silence)]
    return {PRODUCE: (refused[0], refused[-1])} if refused else {}


def _ranges(response: Any) -> Ranges:
    assert response.error_code == ErrorCode.NONE
    return {api.api_key: (api.min_version, api.max_version) for api in response.api_keys}


def _rows(ranges: Ranges) -> list[list[Any]]:
    return [[key, NAMES[key], lowest, highest] for key, (lowest, highest) in ranges.items()]


def _answer(bootstrap: str, request: Request, version: int) -> Any:
    answer = _ask(bootstrap, request, version)
    assert isinstance(answer, bytes), f"{type(request).name} v{version}: the broker {answer.value}"
    return protocol.decode(protocol.response(type(request).key), version, answer)


def _ask(bootstrap: str, request: Request, version: int) -> bytes | Silence:
    return _exchange(bootstrap, encode_frame(request, version, CORRELATION_ID, CLIENT_ID))


def _frame(api_key: int, version: int, after_client_id: bytes) -> bytes:
    """A request that kafkawire.protocol would not make."""
    client_id = CLIENT_ID.encode()
    frame = struct.pack(">hhih", api_key, version, CORRELATION_ID, len(client_id)) + client_id + after_client_id
    return struct.pack(">i", len(frame)) + frame


def _exchange(bootstrap: str, frame: bytes) -> bytes | Silence:
    """Response on a connection of its own, after the correlation id."""
    host, port = bootstrap.split(":")
    with socket.create_connection((host, int(port)), SILENCE) as connection, connection.makefile("rb") as stream:
        connection.sendall(frame)
        try:
            size = stream.read(4)
            if not size:
                return Silence.CLOSES
            return stream.read(*struct.unpack(">i", size))[4:]
        except ConnectionResetError:
            return Silence.CLOSES
        except TimeoutError:
            return Silence.HANGS


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.real.record_profiles", description=__doc__)
    # argparse holds the empty list against the choices too.
    parser.add_argument("releases", nargs="*", choices=[[], *RELEASES], metavar="RELEASE", help="such as 4.4.0; all if none")
    for release in parser.parse_args().releases or RELEASES:
        with RealKafka(release) as broker:
            path = data_file(release)
            path.write_text(as_text(record(broker.bootstrap, release)))
            print(f"{release}: {path.name}", flush=True)


if __name__ == "__main__":
    main()
