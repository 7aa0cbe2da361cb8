"""The error table is Kafka's, and every code becomes the exception for the reaction it asks for."""

from __future__ import annotations

import pickle
import subprocess
from typing import TYPE_CHECKING

import pytest

from kafkawire import errors
from kafkawire.errors import BrokerError, DecodeError, DeliveryError, ErrorCode, KafkaError, broker_error
from tests import requirements
from tests.protocol.kafka_definitions import NEWEST, jar

if TYPE_CHECKING:
    from pathlib import Path

TABLE = """
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.protocol.Errors;

public class Table {
    public static void main(String[] arguments) {
        for (Errors error : Errors.values()) {
            Exception e = error.exception();
            System.out.println(error.code() + " " + error.name() + " " + (e instanceof RetriableException)
                + " " + (e instanceof InvalidMetadataException) + " " + (e instanceof RefreshRetriableException)
                + " " + (e instanceof AuthorizationException) + " " + (e instanceof AuthenticationException));
        }
    }
}
"""


REFRESHED_BY_HAND = {ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_LEADER_EPOCH}
"""Codes after which Java's clients ask for metadata in code of their own, not by the class of the exception."""


def test_codes_names_and_reactions_are_those_of_kafkas_client(tmp_path: Path) -> None:
    requirements.require_java()
    jars = [jar("org.apache.kafka:kafka-clients", NEWEST), jar("org.slf4j:slf4j-api", "1.7.36")]
    source = tmp_path / "Table.java"
    source.write_text(TABLE)
    command = ["java", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, jars)), str(source)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=100).stdout
    kafka = {}
    for line in shown.splitlines():
        code, name, *flags = line.split()
        retriable, metadata, refresh, authorization, authentication = (flag == "true" for flag in flags)
        kafka[int(code)] = (name, retriable, metadata, refresh and not metadata, authorization, authentication)
    assert kafka == {
        int(code): (
            code.name,
            code.retriable,
            code.refresh_metadata and code not in REFRESHED_BY_HAND,
            code.refresh_coordinator,
            isinstance(broker_error(code, ""), errors.AuthorizationError),
            isinstance(broker_error(code, ""), errors.AuthenticationError),
        )
        for code in ErrorCode
    }


REACTIONS: dict[ErrorCode, type[BrokerError]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: errors.UnknownTopicError,
    ErrorCode.UNKNOWN_TOPIC_ID: errors.UnknownTopicError,
    ErrorCode.MESSAGE_TOO_LARGE: errors.MessageTooLargeError,
    ErrorCode.RECORD_LIST_TOO_LARGE: errors.MessageTooLargeError,
    ErrorCode.OFFSET_OUT_OF_RANGE: errors.OffsetOutOfRangeError,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: errors.AuthorizationError,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: errors.AuthorizationError,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: errors.AuthorizationError,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: errors.AuthorizationError,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED: errors.AuthorizationError,
    ErrorCode.UNSUPPORTED_SASL_MECHANISM: errors.AuthenticationError,
    ErrorCode.ILLEGAL_SASL_STATE: errors.AuthenticationError,
    ErrorCode.SASL_AUTHENTICATION_FAILED: errors.AuthenticationError,
}
"""Error classes with a reaction of their own; every other code is a plain BrokerError."""


@pytest.mark.parametrize("code", ErrorCode, ids=lambda code: code.name)
def test_each_reaction_has_its_exception(code: ErrorCode) -> None:
    error = broker_error(code, "fetch of flights-3 from broker 2")
    assert type(error) is REACTIONS.get(code, BrokerError)
    assert (error.error, error.code, error.retriable) == (code, int(code), code.retriable)
    assert str(error) == f"fetch of flights-3 from broker 2: {code.text} ({code.name}, {int(code)})"


def test_codes_of_a_newer_kafka() -> None:
    error = broker_error(4711, "produce")
    assert (error.error, error.code, error.retriable) == (ErrorCode.UNKNOWN_SERVER_ERROR, 4711, False)
    assert "error 4711, which this version of kafkawire does not know" in str(error)


def test_every_text_is_a_short_phrase() -> None:
    assert all(0 < len(code.text) <= 90 and not code.text.endswith(".") for code in ErrorCode)
    assert len({code.text for code in ErrorCode}) == len(ErrorCode)


def test_what_asks_for_a_refresh_may_be_tried_again() -> None:
    assert all(code.refresh_metadata for code in REFRESHED_BY_HAND)
    assert all(code.retriable for code in ErrorCode if code.refresh_metadata or code.refresh_coordinator)
    assert not any(code.refresh_metadata and code.refresh_coordinator for code in ErrorCode)


@pytest.mark.parametrize(
    "error",
    [
        broker_error(3, "produce"),
        DecodeError("too short", api="MetadataResponse", version=9, offset=5),
        errors.CorruptRecordsError("bad checksum", offset=7),
        DeliveryError("1 of 2 records failed", {1: broker_error(10, "produce")}),
        errors.RequestTimedOut("no answer"),
    ],
)
def test_errors_survive_pickling(error: KafkaError) -> None:
    """Executors of process pools and of Spark send their errors home."""
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (type(error), str(error))
    assert {name: str(value) for name, value in vars(copy).items()} == {name: str(value) for name, value in vars(error).items()}


def test_delivery_errors_name_the_records() -> None:
    cause = broker_error(10, "produce")
    error = DeliveryError("1 of 2 records failed", {1: cause})
    assert error.failed == {1: cause}
    assert str(error) == "1 of 2 records failed"


def test_everything_public_is_an_exception_or_the_table() -> None:
    for name in errors.__all__:
        found = getattr(errors, name)
        assert name in {"ErrorCode", "broker_error"} or issubclass(found, KafkaError)
