"""Every declaration says what Kafka's own definitions say, field by field and version by version."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from kafkawire import protocol
from kafkawire.protocol import wire
from kafkawire.protocol.messages import API_KEYS
from tests.protocol.kafka_definitions import NEWEST, RELEASES, broker_apis, definition, in_range
from tests.protocol.strategies import CLASS_VERSIONS, CLASSES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.protocol.schema import Field, Message, Struct


BROKER_TO_BROKER = {
    "DeleteShareGroupState",
    "InitializeShareGroupState",
    "ReadShareGroupState",
    "ReadShareGroupStateSummary",
    "WriteShareGroupState",
}
"""APIs between share coordinators and the brokers that keep the state of share groups (KIP-932)."""

RENAMED = {
    "TxnOffsetCommitRequest": {"generationId": "generationIdOrMemberEpoch"},
    "StreamsGroupHeartbeatResponse": {"acceptableRecoveryLag": "acceptableRecoveryLagLegacy"},
}
"""Message -> fields that the newest release calls otherwise than those before it, in the same versions."""


class Described(NamedTuple):
    """A field as one version has it, in the order of the wire."""

    path: str
    type: str
    nullable: bool
    tag: int | None
    default: Any


def definitions(cls: type[Message]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each release that has the message and its definition, newest first."""
    for release in RELEASES:
        found = definition(cls.__name__, release)
        if found is not None:
            yield release, found


def kafka_definition(cls: type[Message], version: int) -> dict[str, Any]:
    """The newest definition that still has the version."""
    return next(kafka for _, kafka in definitions(cls) if in_range(version, kafka["validVersions"]))


def renamed(cls: type[Message], release: str) -> dict[str, str]:
    """Fields of a release by their paths, with the names that they have now."""
    return {} if release == NEWEST else RENAMED.get(cls.__name__, {})


def common_structs(kafka: dict[str, Any]) -> dict[str, Any]:
    return {struct["name"]: struct["fields"] for struct in kafka.get("commonStructs", [])}


def kafka_fields(fields: list[dict[str, Any]], common: dict[str, Any], version: int, path: str = "") -> list[Described]:
    found = []
    for field in fields:
        if not in_range(version, field.get("versions") or field["taggedVersions"]):
            continue
        name = path + field["name"][0].lower() + field["name"][1:]
        element = field["type"].removeprefix("[]")
        children = field.get("fields") or common.get(element)
        type_ = field["type"].replace(element, "struct") if children else field["type"]
        nullable = in_range(version, field.get("nullableVersions", "none"))
        tag = field["tag"] if in_range(version, field.get("taggedVersions", "none")) else None
        found.append(Described(name, type_, nullable, tag, kafka_default(field, type_, tag, nullable)))
        if children:
            found += kafka_fields(children, common, version, name + ".")
    return found


def kafka_default(field: dict[str, Any], type_: str, tag: int | None, nullable: bool) -> Any:
    """What Kafka's generator makes of the definition's default: the string "null", a null stands for the type's own.

    A tagged struct is None with us until it is sent, unless None is what can be sent.
    """
    given = field.get("default")
    if type_.startswith("[]"):
        return None if given == "null" else []
    if given == "null" or type_ == "records" or (type_ == "struct" and tag is not None and not nullable):
        return None
    if type_ == "struct":
        return "a new one"
    if type_ == "bool":
        return str(given).lower() == "true"
    if type_ == "float64":
        return float(given or 0)
    if type_ in {"string", "bytes", "uuid"}:
        return {"string": given or "", "bytes": b"", "uuid": wire.ZERO_UUID}[type_]
    return int(str(given or 0), 0)


def our_fields(cls: type[Struct], version: int, path: str = "") -> list[Described]:
    found = []
    for field in cls.fields:
        if version not in field.versions:
            continue
        struct = isinstance(field.element, type)
        type_ = "[]" * field.array + ("struct" if isinstance(field.element, type) else field.element.name)
        default = "a new one" if struct and field.default is field.element else field.default
        found.append(Described(path + field.json_name, type_, version in field.nullable, field.tag, default))
        if isinstance(field.element, type):
            found += our_fields(field.element, version, f"{path}{field.json_name}.")
    return found


@pytest.mark.parametrize(("cls", "version"), CLASS_VERSIONS, ids=lambda value: getattr(value, "__name__", value))
def test_fields_are_kafkas(cls: type[Message], version: int) -> None:
    compared = [(release, kafka) for release, kafka in definitions(cls) if in_range(version, kafka["validVersions"])]
    assert compared
    for release, kafka in compared:
        names, found = renamed(cls, release), kafka_fields(kafka["fields"], common_structs(kafka), version)
        assert our_fields(cls, version) == [field._replace(path=names.get(field.path, field.path)) for field in found], release


@pytest.mark.parametrize("release", RELEASES)
def test_every_api_of_a_broker_is_declared(release: str) -> None:
    renamed = {"ListClientMetricsResources"}  # ListConfigResources since 4.1 (KIP-1142)
    assert broker_apis(release) - set(API_KEYS) <= BROKER_TO_BROKER | renamed
    assert list(API_KEYS.values()) == sorted(API_KEYS.values())


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_key_versions_and_flexible_versions_are_kafkas(cls: type[Message]) -> None:
    found = [kafka for _, kafka in definitions(cls)]
    every = {version for version in range(50) for kafka in found if in_range(version, kafka["validVersions"])}
    assert {kafka["apiKey"] for kafka in found} == {cls.key} == {API_KEYS[cls.name]}
    assert set(cls.versions) == every
    flexible = {version for version in every if cls.flexible is not None and version >= cls.flexible}
    assert flexible == {version for version in every if in_range(version, found[0]["flexibleVersions"])}


@pytest.mark.parametrize("api", API_KEYS)
def test_stable_versions_are_kafkas(api: str) -> None:
    """Kafka marks the definition of a request whose last version is not stable."""
    cls = protocol.request(api)
    unstable = {
        version
        for version in cls.versions
        if (kafka := kafka_definition(cls, version)).get("latestVersionUnstable")
        and not in_range(version + 1, kafka["validVersions"])
    }
    assert set(cls.stable) == set(cls.versions) - unstable


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_fields_that_may_be_dropped_are_kafkas(cls: type[Message]) -> None:
    """Ignorable fields vanish in versions without them; the others must raise. The newest definition of a field decides."""
    kafka: dict[str, bool] = {}
    for release, found in reversed(list(definitions(cls))):
        names, fields = renamed(cls, release), kafka_ignorable(found["fields"], common_structs(found))
        kafka |= {names.get(path, path): ignorable for path, ignorable in fields.items()}
    assert our_ignorable(cls) == kafka


def kafka_ignorable(fields: list[dict[str, Any]], common: dict[str, Any], path: str = "") -> dict[str, bool]:
    found = {}
    for field in fields:
        name = path + field["name"][0].lower() + field["name"][1:]
        found[name] = str(field.get("ignorable", False)).lower() == "true"
        children = field.get("fields") or common.get(field["type"].removeprefix("[]"), [])
        found |= kafka_ignorable(children, common, name + ".")
    return found


def our_ignorable(cls: type[Struct], path: str = "") -> dict[str, bool]:
    found = {}
    for field in cls.fields:
        found[path + field.json_name] = field.ignorable
        if isinstance(field.element, type):
            found |= our_ignorable(field.element, f"{path}{field.json_name}.")
    return found


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_field_names_are_kafkas_in_snake_case(cls: type[Message]) -> None:
    def names(struct: type[Struct]) -> list[Field]:
        return [
            *struct.fields,
            *(f for field in struct.fields if isinstance(field.element, type) for f in names(field.element)),
        ]

    for field in names(cls):
        assert field.name == "".join("_" + c.lower() if c.isupper() else c for c in field.json_name)


def test_messages_are_found_by_key_and_by_name() -> None:
    assert protocol.request(3) is protocol.request("Metadata")
    assert protocol.response("Fetch").name == "Fetch"
    assert protocol.request("FindCoordinator").key == 10


def test_a_message_file_is_loaded_when_a_message_of_it_is_asked_for() -> None:
    program = """
        import sys, kafkawire
        from kafkawire import protocol
        protocol.request("Heartbeat")
        print(*(name for name in sys.modules if name.startswith("kafkawire.protocol.messages.")))
    """
    shown = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["kafkawire.protocol.messages.heartbeat"]


@pytest.mark.parametrize("api", [4, -1, 1000, "Nonsense", "metadata"])
def test_an_undeclared_api_is_a_key_error(api: int | str) -> None:
    with pytest.raises(KeyError, match=str(api)):
        protocol.request(api)
