"""`kafkawire topics`."""

from __future__ import annotations

import json
import ssl

import pytest
import trustme
from click.testing import CliRunner

from kafkawire.cli.app import app
from mockbroker import MockCluster


def topics(mock_kafka, *arguments):
    done = CliRunner().invoke(app, ["topics", "--bootstrap", mock_kafka.bootstrap, *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_json_has_partitions_and_replicas(mock_kafka):
    mock_kafka.create_topic("flights", 6)
    mock_kafka.create_topic("airports", 1, replication_factor=1)
    replicas = min(3, len(mock_kafka.brokers))
    assert json.loads(topics(mock_kafka, "--json")) == [
        {"topic": "airports", "partitions": 1, "replicas": 1},
        {"topic": "flights", "partitions": 6, "replicas": replicas},
    ]


def test_the_table_has_a_row_for_each_topic(mock_kafka):
    mock_kafka.create_topic("flights", 6)
    assert "flights" in topics(mock_kafka)


def test_tls_and_other_options_come_from_the_command_line_and_from_a_file(tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    secured = f"security.protocol=SSL\nssl.cafile={tmp_path / 'ca.pem'}"
    with MockCluster(1, topics={"flights": 2}, tls=context) as kafka:
        file = tmp_path / "client.properties"
        file.write_text(f"# how to reach it\n\nbootstrap.servers = {kafka.bootstrap}\n{secured}\n")
        given = [argument for setting in secured.split() for argument in ("-X", setting)]
        for arguments in (
            ["--config", str(file)],
            [*given, "-b", kafka.bootstrap],
            ["--config", str(file), "-X", "client.id=me"],
        ):
            done = CliRunner().invoke(app, ["topics", "--json", *arguments])
            assert done.exit_code == 0, done.output
            assert json.loads(done.output) == [{"topic": "flights", "partitions": 2, "replicas": 1}]
        assert kafka.journal.requests("Metadata")[-1].client_id == "me"


def test_a_cluster_without_topics(mock_kafka):
    assert json.loads(topics(mock_kafka, "--json")) == []


@pytest.mark.parametrize("timeout", ["nan", "inf", "0", "-1", "1e9"])
def test_a_timeout_that_is_none(timeout):
    done = CliRunner().invoke(app, ["topics", "--timeout", timeout])
    assert done.exit_code == 2
    assert "Invalid value for --timeout" in done.output
