"""Declarations of messages: constructors, equality, repr, class attributes, and errors in the declaration itself."""

from __future__ import annotations

import functools
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from kafkawire import protocol
from kafkawire.errors import EncodeError
from kafkawire.protocol import codegen
from kafkawire.protocol.schema import VersionRange
from kafkawire.protocol.wire import ZERO_UUID
from tests import requirements

MetadataRequest: Any = protocol.request("Metadata")
MetadataResponse: Any = protocol.response("Metadata")
FetchResponse: Any = protocol.response("Fetch")
AlterConfigsRequest: Any = protocol.request("AlterConfigs")
SaslAuthenticateRequest: Any = protocol.request("SaslAuthenticate")


PRELUDE = "from kafkawire.protocol.schema import *\nfrom kafkawire.protocol.wire import *\n"


def declare(source: str) -> Any:
    """The class `Example` of a module whose annotations are evaluated, as those of message files are."""
    names: dict[str, Any] = {}
    exec(compile(PRELUDE + textwrap.dedent(source), "<declaration>", "exec", dont_inherit=True), names)
    return names["Example"]


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [("3", [3], [2, 4]), ("0-13", [0, 13], [-1, 14]), ("4+", [4, 99], [3]), ("none", [], [0, 1, 2])],
)
def test_version_ranges(text: str, inside: list[int], outside: list[int]) -> None:
    versions = VersionRange(text)
    assert all(version in versions for version in inside)
    assert not any(version in versions for version in outside)
    assert str(versions) == text
    assert versions == VersionRange(text)
    assert bool(versions) == bool(inside)


def test_what_describes_a_class_is_not_hidden_by_its_fields() -> None:
    request: Any = protocol.request("FindCoordinator")
    assert (request.key, request.name, request.flexible) == (10, "FindCoordinator", 3)
    assert (request.versions.min, request.versions.max) == (0, 6)
    assert request(key="group").key == "group"
    assert list(VersionRange("2-4")) == [2, 3, 4]


def test_versions_are_stable_unless_declared_otherwise() -> None:
    assert protocol.request("Metadata").stable == protocol.request("Metadata").versions
    assert (str(protocol.request("ShareFetch").versions), str(protocol.request("ShareFetch").stable)) == ("0-2", "1-2")


def test_defaults_are_the_schemas_and_not_shared() -> None:
    topic = MetadataResponse.Topic()
    assert (topic.error_code, topic.name, topic.topic_id, topic.topic_authorized_operations) == (0, "", ZERO_UUID, -2147483648)
    topic.partitions.append(1)
    assert MetadataResponse.Topic().partitions == []
    assert MetadataRequest(topics=None).topics is None
    assert FetchResponse.FetchableTopicResponse.PartitionData().current_leader is None


@pytest.mark.parametrize("wrong", [{"topic": []}, {"key": 3}])
def test_unknown_fields_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match="unexpected keyword"):
        MetadataRequest(**wrong)
    with pytest.raises(AttributeError):
        MetadataRequest().topic = []


def test_equality_is_by_value_and_type() -> None:
    assert MetadataRequest(topics=[MetadataRequest.Topic(name="a")]) == MetadataRequest(
        topics=[MetadataRequest.Topic(name="a")]
    )
    assert MetadataRequest(topics=[]) != MetadataRequest(topics=None)
    assert MetadataRequest(unknown_tags={1: b""}) != MetadataRequest()
    assert MetadataRequest() != "MetadataRequest()"
    with pytest.raises(TypeError, match="unhashable"):
        hash(MetadataRequest())


def test_repr_shows_what_is_not_default() -> None:
    assert repr(MetadataRequest(topics=[MetadataRequest.Topic(name="a")])) == (
        "MetadataRequest(topics=[MetadataRequest.Topic(name='a')])"
    )
    data = FetchResponse.FetchableTopicResponse.PartitionData
    assert repr(data(records=bytes(1000))) == "FetchResponse.FetchableTopicResponse.PartitionData(records=<1000 bytes>)"
    assert repr(data(records=memoryview(b"ab"), unknown_tags={5: b"x"})) == (
        "FetchResponse.FetchableTopicResponse.PartitionData(records=b'ab', unknown_tags={5: b'x'})"
    )


SECRETS = [
    ("SaslAuthenticateRequest", "auth_bytes"),
    ("SaslAuthenticateResponse", "auth_bytes"),
    ("AlterUserScramCredentialsRequest.ScramCredentialUpsertion", "salt"),
    ("AlterUserScramCredentialsRequest.ScramCredentialUpsertion", "salted_password"),
    ("CreateDelegationTokenResponse", "hmac"),
    ("RenewDelegationTokenRequest", "hmac"),
    ("ExpireDelegationTokenRequest", "hmac"),
    ("DescribeDelegationTokenResponse.DescribedDelegationToken", "hmac"),
    ("AlterConfigsRequest.Resource.AlterableConfig", "value"),
    ("IncrementalAlterConfigsRequest.AlterConfigsResource.AlterableConfig", "value"),
]


def struct_of(path: str) -> Any:
    """The message or struct of a dotted name."""
    message, *inner = path.split(".")
    load = protocol.request if message.endswith("Request") else protocol.response
    return functools.reduce(getattr, inner, load(message.removesuffix("Request").removesuffix("Response")))


@pytest.mark.parametrize(("path", "name"), SECRETS)
@pytest.mark.parametrize("value", ["hunter2", b"hunter2", bytearray(b"hunter2" * 9), ["hunter2"], {"x": "hunter2"}])
def test_repr_does_not_show_secrets(path: str, name: str, value: Any) -> None:
    """Right or wrong: a value of the wrong type is a secret all the same."""
    assert repr(struct_of(path)(**{name: value})) == f"{path}({name}=***)"


def test_no_secret_is_shown_as_none() -> None:
    """The default of a configuration is asked for with None."""
    assert repr(AlterConfigsRequest.Resource.AlterableConfig(value=None)).endswith("AlterableConfig(value=None)")


def test_what_surrounds_a_secret_is_shown() -> None:
    config = AlterConfigsRequest.Resource.AlterableConfig(name="ssl.keystore.password", value="hunter2")
    shown = repr(AlterConfigsRequest(resources=[AlterConfigsRequest.Resource(resource_name="1", configs=[config])]))
    assert "resource_name='1'" in shown
    assert "name='ssl.keystore.password', value=***" in shown


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (SaslAuthenticateRequest(auth_bytes="hunter2"), "auth_bytes is ***, which is not a valid bytes"),
        (AlterConfigsRequest(resources={"value": "hunter2"}), "resources is ***, not a list"),
        (AlterConfigsRequest(resources=[{"value": "hunter2"}]), "resources[0] is ***, not a AlterConfigsRequest.Resource"),
    ],
)
def test_errors_of_encode_do_not_show_secrets(message: Any, reason: str) -> None:
    with pytest.raises(EncodeError, match=re.escape(reason)) as caught:
        protocol.encode(message, 1)
    assert "hunter2" not in str(caught.value) + repr(message)


@pytest.mark.parametrize(
    ("cls", "values"),
    [
        (SaslAuthenticateRequest, {"authBytes": "*hunter2"}),
        (AlterConfigsRequest, {"resources": ["hunter2"]}),
        (AlterConfigsRequest, {"resources": [{"configs": [{"value": "hunter2"}, 5]}]}),
    ],
)
def test_errors_of_from_dict_do_not_show_secrets(cls: Any, values: dict[str, Any]) -> None:
    with pytest.raises(EncodeError, match=r": \*\*\* has the wrong form") as caught:
        protocol.from_dict(cls, values)
    assert "hunter2" not in str(caught.value)


EXAMPLE = """
    class Example(Message, versions="0-2", flexible="1+"):
        class Inner(Struct):
            number: Int8 = field(default=-1)
            maybe: Bytes | None = field(nullable="0+", default=None)

        plain: Inner = field()
        nullable: Inner | None = field("1+", nullable="1+", default=None, ignorable=True)
        ids: list[Uuid] = field()
        flags: list[Bool] | None = field(nullable="2+")
        text: list[String] = field("2+", tag=3, ignorable=True)
        share: Float64 = field()
        port: UInt16 = field("2+", tag=1, default=9092, ignorable=True)
"""


@pytest.mark.parametrize("version", [0, 1, 2])
def test_all_kinds_of_fields_together(version: int) -> None:
    """Kinds that no declared message has side by side: nullable structs, structs by value, arrays of ids, floats, tags."""
    example = declare(EXAMPLE)
    for nullable in (None, example.Inner(number=7, maybe=b"")):
        message = example(plain=example.Inner(maybe=b"m"), ids=[bytes(16), b"i" * 16], flags=[True, False], share=0.5)
        if version >= 1:
            message.nullable = nullable
        if version >= 2:
            message.text, message.port = ["a", "b"], 1
            message.flags = None
        body = protocol.encode(message, version)
        assert protocol.decode(example, version, body) == message
        assert protocol.from_dict(example, protocol.to_dict(message)) == message


def test_trap_20_nullable_structs_begin_with_an_int8() -> None:
    """KIP-893."""
    example = declare(
        'class Example(Message, versions="0"):\n  class In(Struct):\n    a: Int8 = field()\n'
        '  x: In | None = field(nullable="0+", default=None)\n'
    )
    assert protocol.encode(example(), 0) == b"\xff"
    assert protocol.encode(example(x=example.In(a=5)), 0) == b"\1\5"
    assert protocol.decode(example, 0, b"\xff").x is None
    assert protocol.decode(example, 0, b"\1\5").x.a == 5
    with pytest.raises(ValueError, match="x begins with 2, which is neither null nor a struct"):
        protocol.decode(example, 0, b"\2\5")


@pytest.mark.parametrize(
    ("declaration", "reason"),
    [
        ("x: String | None = field()", "x: the annotation and nullable=none do not agree"),
        ('x: String = field(nullable="1+")', "x: the annotation and nullable=1"),
        ("x: int = field()", "x: <class 'int'> is not a wire type"),
        ("x: 'String' = field()", "x: 'String' is not a wire type"),
    ],
)
def test_declarations_that_contradict_themselves(declaration: str, reason: str) -> None:
    with pytest.raises(TypeError, match=reason):
        declare(f"class Example(Struct):\n    {declaration}\n")


def test_generated_code_can_be_read() -> None:
    assert "def decode(data, pos):" in codegen.decoder_source(MetadataResponse, 12)
    assert "def encode(o):" in codegen.encoder_source(MetadataResponse, 12)


def test_constructors_are_typed_for_mypy(tmp_path: Path) -> None:
    """The types that users of a checker see, errors included."""
    source = """
        from kafkawire import protocol
        from kafkawire.protocol.messages.metadata import MetadataRequest, MetadataResponse

        request = MetadataRequest(topics=[MetadataRequest.Topic(name="a")])
        reveal_type(request.topics)
        reveal_type(protocol.decode(MetadataResponse, 1, b"").brokers[0].port)
        reveal_type(MetadataRequest.key)
        reveal_type(protocol.request(3).versions.max)
        MetadataRequest(topics=5)
        MetadataRequest(topic=[])
        MetadataRequest([])
    """
    path = tmp_path / "user.py"
    path.write_text(textwrap.dedent(source))
    mypy = requirements.peer("mypy.api")
    root = Path(__file__).parents[2]
    shown, _, _ = mypy.run(
        ["--strict", "--no-incremental", "--hide-error-context", "--config-file", str(root / "pyproject.toml"), str(path)]
    )
    found = [line.partition(": ")[2] for line in shown.splitlines()]
    assert 'note: Revealed type is "list[kafkawire.protocol.messages.metadata.MetadataRequest.Topic] | None"' in found, shown
    assert 'note: Revealed type is "int"' in found
    assert sum("error" in line for line in found) == 4, shown
