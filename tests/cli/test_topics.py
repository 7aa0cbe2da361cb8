"""`kafkawire topics`."""

from __future__ import annotations

import json

from click.testing import CliRunner

from kafkawire.cli.app import app


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


def test_a_cluster_without_topics(mock_kafka):
    assert json.loads(topics(mock_kafka, "--json")) == []
